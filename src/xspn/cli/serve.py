"""Answer over HTTP: the models' probabilities, completions and samples behind an address.

  xspn serve model.json                                     http://127.0.0.1:8000
  xspn serve senate.json house=2024/house.xspn --workers 4
  curl -s localhost:8000/v1/models/model/marginals -H 'content-type: application/json' -d '{"rows": [{"rain": "yes"}]}'

Each model has POST /v1/models/NAME/{query,score,marginals,mpe,sample,impute,count}; GET /openapi.json describes them
with examples, / is the explorer's page, /healthz, /readyz and /metrics are for those who watch over the service.

A model file that changes is taken up without losing a request; if the new one is damaged, the old one stays, and
/readyz says so. SIGTERM (or Ctrl-C) finishes what was accepted and stops; SIGHUP reads the model files again.
The token is read from a file or from the variable XSPN_TOKEN, so that no list of processes shows it.
"""

import argparse
import os
from pathlib import Path

from xspn.core.errors import ParameterError

LEAST_TOKEN, LONGEST_TOKEN = 16, 1 << 16  # letters
MOST = 10**9  # of any limit: what is larger is none
MOST_WORKERS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the models, the address, the limits and the token."""
    parser.add_argument("models", nargs="+", metavar="MODEL", help="a model file, or NAME=FILE (default: its own name)")
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1, this machine)"
    )
    parser.add_argument("--port", type=int, default=8000, help="0 for any that is free (default: 8000)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes that answer (default: 1)")
    parser.add_argument("--token-file", metavar="FILE", help="a bearer token that requests must bring")
    parser.add_argument(
        "--log",
        choices=("quiet", "info", "requests", "data"),
        default="info",
        help="JSON lines on standard error: faults; what the service does; each request; also what is wrong with "
        "requests, which may quote cells (default: info)",
    )
    group = parser.add_argument_group("limits")
    group.add_argument("--max-body", type=float, default=16, metavar="MB", help="of a request (default: 16)")
    group.add_argument("--max-rows", type=int, default=100_000, metavar="ROWS", help="of a request (default: 100000)")
    group.add_argument("--timeout", type=float, default=30, metavar="SECONDS", help="for an answer (default: 30)")
    group.add_argument(
        "--max-concurrent", type=int, default=256, metavar="N", help="requests at once, in each worker (default: 256)"
    )
    group.add_argument(
        "--grace", type=float, default=30, metavar="SECONDS", help="to finish requests when it stops (default: 30)"
    )


def run(args: argparse.Namespace) -> int:
    """Serve."""
    for option in ("workers", "max_rows", "max_concurrent", "timeout", "max_body", "grace"):
        most = MOST_WORKERS if option == "workers" else MOST
        if not 0 < (value := getattr(args, option)) <= most:
            expected = f"expected more than 0 and at most {most:,}"
            raise ParameterError(f"--{option.replace('_', '-')}: {expected}, found {value}")
    if not 0 <= args.port < 1 << 16:
        raise ParameterError(f"--port: expected a number from 0 to 65535, found {args.port}")
    try:
        import orjson  # noqa: F401
    except ImportError as error:
        from xspn.core.errors import MissingExtraError

        raise MissingExtraError("serving needs more packages: pip install 'xspn[serve]'") from error
    from xspn.service.app import Limits
    from xspn.service.models import named_files
    from xspn.service.supervisor import Settings, serve

    limits = Limits(int(args.max_body * (1 << 20)), args.max_rows, args.timeout, args.max_concurrent)
    settings = Settings(args.host, args.port, args.workers, limits, _token(args.token_file), args.log, args.grace)
    return serve(named_files(args.models), settings)


def _token(path: str | None) -> str | None:
    """Return the token of a file, or that of the environment."""
    token = os.environ.get("XSPN_TOKEN") if path is None else _of_file(path)
    if token is None:
        return None
    source, own = "XSPN_TOKEN" if path is None else path, token.strip()
    if not LEAST_TOKEN <= len(own) <= LONGEST_TOKEN or not own.isascii() or not own.isprintable() or " " in own:
        raise ParameterError(f"{source}: expected a token of at least {LEAST_TOKEN} ASCII letters, without spaces")
    return own


def _of_file(path: str) -> str:
    with Path(path).open("rb") as stream:
        return stream.read(LONGEST_TOKEN + 1).decode("utf-8", "replace")  # what replaces is not ASCII, and refused
