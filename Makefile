# `make demo` and `make test` set everything up by themselves, in a virtual environment in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: help install demo test test-interop test-slow lint format bench wheel clean

help:  ## Say what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml meson.build
	@echo "==> Setting up $(VENV) (compiles the kernels; about a minute)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "meson-python>=0.17" "meson>=1.4" "cython>=3.1" ninja
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-build-isolation --editable ".[test,lint]"
	@touch $(READY)

install: $(READY)  ## Set up the virtual environment with psidag in it
	@echo "==> Ready: $(BIN)/psidag --help"

demo: $(READY)  ## Learn a graph from simulated data and from real data
	@echo "==> psidag demo"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/psidag demo

test: $(READY)  ## Run the tests (all but the slow ones)
	@echo "==> pytest"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 2 -m "not slow"

test-interop: $(READY)  ## Test the way to and from other libraries (installs them: large)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-build-isolation --editable ".[interop]"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest tests/test_interop.py

test-slow: $(READY)  ## Run the slow tests
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -m slow

lint: $(READY)  ## Check style, types and the direction of imports
	@echo "==> ruff, mypy, import-linter"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@# Without site: the finder of the editable install hides the source tree from the linter.
	PYTHONPATH="src:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
		$(BIN)/python -S -c "from importlinter.cli import lint_imports_command as lint; lint()" --no-cache

format: $(READY)  ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## Run the benchmarks; each prints its own table
	@for file in benchmarks/*.py; do echo "==> $$file"; PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python $$file || exit 1; done

wheel: $(READY)  ## Build a wheel into dist/
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:  ## Remove everything that was made
	rm -rf $(VENV) build dist
