"""Where the library could break trust: the level and power of its test, memory, growth, and model files.

    python benchmarks/stress.py [level_and_power memory model_files]

Each part prints its figures beside the bar that they must meet. Times are for one core; fits whose memory is measured
run in processes of their own.
"""

import argparse
import importlib
import time

from threadpoolctl import threadpool_limits

PARTS = ("level_and_power", "memory", "model_files")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    with threadpool_limits(1):
        for part in parser.parse_args().parts or PARTS:
            started = time.perf_counter()
            print(f"\n== {part.replace('_', ' ')} ==", flush=True)
            importlib.import_module(part).report()
            print(f"({time.perf_counter() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
