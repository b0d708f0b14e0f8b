"""Make a virtual environment for each library that inference is compared with.

python benchmarks/inference_peers/install.py
"""

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parents[2] / ".peers"
TORCH = "torch==2.13.0"  # as in constraints.txt
PACKAGES = {
    "deeprob": ["deeprob-kit==1.1.0", "scikit-learn<1.2", "networkx<2.8.3", TORCH],
    "spflow": ["spflow==1.1.0", TORCH],
    "cirkit": ["libcirkit", TORCH],
}


def main() -> None:
    for name, packages in PACKAGES.items():
        folder = HERE / name
        venv.create(folder, with_pip=True)
        done = subprocess.run([folder / "bin" / "pip", "install", "--quiet", *packages], check=False)
        print(f"{name}: {'ready' if done.returncode == 0 else 'could not be installed'}")
        if done.returncode:
            sys.exit(1)


if __name__ == "__main__":
    main()
