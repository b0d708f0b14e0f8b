"""`python -m xspn`: the same as the `xspn` command."""

import sys

from xspn.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
