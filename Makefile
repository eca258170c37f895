# Everything from a fresh clone, with python3 (3.11 or later), make and the package index.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
OUT    ?= out
SEED   ?= 0

.PHONY: help env env-dev demo test bench format clean
.DEFAULT_GOAL := help

help:  ## say what each target does
	@sed -n 's/^\([a-z-]*\):.*##/\1:/p' Makefile | awk -F': *' '{printf "  make %-9s %s\n", $$1, $$2}'

# Stamp files make the second `make env` free: pip runs again only when pyproject.toml changed.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"codesign needs Python 3.11 or later; $(PYTHON) is {v[0]}.{v[1]}. Try: make PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make a virtual environment; on Debian: apt install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/.runtime: $(VENV)/.created pyproject.toml
	@echo "Installing codesign into $(VENV) ..."
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@echo "Installing the development tools into $(VENV) ..."
	@$(PIP) install --editable '.[dev]'
	@touch $@

env: $(VENV)/.runtime  ## create .venv and install codesign into it

env-dev: $(VENV)/.dev  ## the same, with the tools that `make test` runs

demo: env  ## design the hexapod together with its motion; the report's path comes last
	@$(BIN)/codesign solve hexapod --seed $(SEED) --out $(OUT)/hexapod

test: env-dev  ## format, lint, types, dependency contracts, tests (the README's code included)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

format: env-dev  ## put the code into the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: env  ## run the benchmarks; JSON goes under out/benchmarks
	@for script in derivatives paper peers prices compile twins tasks; do \
	  $(BIN)/python -m benchmarks.$$script --out $(OUT)/benchmarks || exit 1; done

clean:  ## remove .venv, results and caches
	rm -rf $(VENV) $(OUT) build *.egg-info .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
