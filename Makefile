# Every target makes its own virtual environment: Python 3.11 and make are all that is needed.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
RUN := .venv/.run
DEV := .venv/.dev

.PHONY: venv demo test check fuzz bench docs dist clean
.DEFAULT_GOAL := demo

venv: $(DEV)

# What users need.
$(RUN): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

# What the tests need on top: the optional parts are tested too.
$(DEV): $(RUN)
	$(PIP) -e '.[dev,torch,xgboost]'
	touch $@

demo: $(RUN)
	$(BIN)/xspn demo

test: $(DEV)
	$(BIN)/pytest -n 2

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/test_imports.py

# Random input for so many seconds, from a seed that is printed (SEED=7 for the same again); then the property tests with
# examples that nobody has seen. EXPLORE= leaves these out.
SECONDS ?= 600
SEED ?=
EXPLORE ?= yes

fuzz: $(DEV)
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))
	$(if $(EXPLORE),HYPOTHESIS_PROFILE=explore $(BIN)/pytest -q -n 2 tests/properties tests/data)

# The site, in build/site: open index.html in a browser.
docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# What a release consists of, in dist/; the wheel is installed into a fresh environment and used outside the checkout.
dist: $(DEV)
	rm -rf dist build/release
	$(BIN)/python -m build --no-isolation --outdir dist
	$(PYTHON) -m venv build/release
	build/release/bin/pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd build/release && bin/xspn --version && bin/xspn datasets make conference --out conference \
		&& bin/xspn fit conference/conference.train.csv -o model.json && bin/xspn query model.json

bench: $(DEV)
	$(BIN)/python benchmarks/inference.py
	$(BIN)/python benchmarks/learning.py

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
