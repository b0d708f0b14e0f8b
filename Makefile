# Every target makes its own virtual environment: Python 3.11 and make are all that is needed.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready

.PHONY: venv demo test check bench clean
.DEFAULT_GOAL := demo

venv: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/xspn demo

test: $(READY)
	$(BIN)/pytest -n 2

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/test_imports.py

bench: $(READY)
	$(BIN)/python benchmarks/inference.py

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
