"""Where the library could break trust: the level and power of its test, memory, growth, and model files.

    python benchmarks/stress.py [level_and_power memory model_files]

Each part prints its figures beside the bar that they must meet. Times are for one core; fits whose memory is measured
run in processes of their own.
"""

import importlib
import time

from harness import parser
from threadpoolctl import threadpool_limits

PARTS = ("level_and_power", "memory", "model_files")


def main() -> None:
    with threadpool_limits(1):
        for part in parser(__doc__, PARTS).parse_args().parts:
            started = time.perf_counter()
            print(f"\n== {part.replace('_', ' ')} ==", flush=True)
            importlib.import_module(part).report()
            print(f"({time.perf_counter() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
