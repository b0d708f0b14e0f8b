"""Requests that Schemathesis makes of the OpenAPI document: no fault, nothing that hangs, nothing undocumented.

Questions are a language, and options may not stand in body and address at once: no schema says that, so a request that
fits the document may still be refused (413, 422). What does not fit it may be accepted: rows take all spellings that
tables may have, such as "1" and true for 1. A larger run, of a service of any models:

    schemathesis --config-file tests/support/schemathesis.toml run http://127.0.0.1:8000/openapi.json --checks all \
        --exclude-checks negative_data_rejection
"""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")
pytest.importorskip("schemathesis", reason="the extra dev is not installed")
from support.serving import Running
from xspn import save

CONFIG = Path(__file__).parents[1] / "support" / "schemathesis.toml"
START = "from schemathesis.cli import schemathesis; schemathesis()"
OPTIONS = ["--checks", "all", "--exclude-checks", "negative_data_rejection", "--max-examples", "6", "--seed", "0"]
BOUNDS = ["--request-timeout", "30", "--max-response-time", "20", "--max-time", "60", "--no-color"]


def test_the_service_is_as_its_document_says(circuits, tmp_path):
    save(circuits["survey"], tmp_path / "survey.json")
    with Running(str(tmp_path / "survey.json")) as service:
        address = f"http://127.0.0.1:{service.port}/openapi.json"
        done = subprocess.run(
            [sys.executable, "-c", START, "--config-file", CONFIG, "run", address, *OPTIONS, *BOUNDS],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Tested: 13" in done.stdout  # seven queries, card and schema, and what is there of the service itself
    wrong = ("fault", "stuck", "worker ended", "warning")
    assert [line for line in service.log_lines if line["event"] in wrong] == []
