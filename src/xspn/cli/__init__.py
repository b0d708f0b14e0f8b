"""The `xspn` command: one file per subcommand.

Each command module has a docstring (its help), `add_arguments(parser)` and `run(args) -> int`. Heavy imports belong
into `run`, so that `xspn --help` answers at once.
"""

from xspn.cli.main import main

__all__ = ["main"]
