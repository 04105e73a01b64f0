# `make demo` and `make test` set everything up by themselves, in a virtual environment in .venv.

PYTHON ?= python3
# What is installed: the checkout, where a change takes effect at once, or WHEEL=dist/psidag-….whl, as users have it.
# A checkout costs every process more to start: the kernels are checked, and the sources compiled, each time.
WHEEL ?=
VENV := $(if $(WHEEL),.venv-wheel,.venv)
BIN := $(VENV)/bin
READY := $(VENV)/ready
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
, := ,
psidag = $(if $(WHEEL),"$(WHEEL)[$(1)]",--no-build-isolation --editable ".[$(1)]")

.PHONY: help install demo test test-kernels test-interop test-slow lint format docs bench bundle browser wheel clean

help:  ## Say what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml meson.build $(WHEEL)
	@echo "==> Setting up $(VENV)$(if $(WHEEL),, (compiles the kernels; about a minute))"
	$(PYTHON) -m venv $(if $(WHEEL),--clear) $(VENV)
	$(PIP) install --upgrade pip
	$(if $(WHEEL),,$(PIP) install "meson-python>=0.17" "meson>=1.4" "cython>=3.1" ninja)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install $(call psidag,test$(,)lint)
	@touch $(READY)

install: $(READY)  ## Set up the virtual environment with psidag in it
	@echo "==> Ready: $(BIN)/psidag --help"

demo: $(READY)  ## Learn a graph from simulated data and from real data
	@echo "==> psidag demo"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/psidag demo

test: $(READY)  ## Run the tests (all but the slow ones)
	@echo "==> pytest"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 2 -m "not slow and not site"

# Where rounding can decide: searches, whose every move hangs on a comparison, what they compute from, and all methods in
# the one table of conformance. Other tests compare texts, files and laws on numbers that are at hand, or go through the
# same searches again: before a release all run, with NUMERICAL=tests.
NUMERICAL ?= $(addprefix tests/,directions engines scores search stages data/test_moments.py \
	whole/test_conformance.py whole/test_required.py whole/test_story.py whole/test_trust.py)
# Vectors of half the length, and none that fuse multiplication and addition: the furthest from the processors of today.
KERNELS ?= Sandybridge Nehalem

test-kernels: $(READY)  ## Run the numerical tests with the linear algebra of other processors
	@for kernel in $(KERNELS); do \
		echo "==> pytest, OPENBLAS_CORETYPE=$$kernel"; \
		OPENBLAS_CORETYPE=$$kernel PATH="$(CURDIR)/$(BIN):$$PATH" \
			$(BIN)/python -m pytest -q -n 2 -m "not slow and not site" $(wildcard $(NUMERICAL)) || exit 1; \
	done

test-interop: $(READY)  ## Test the way to and from other libraries (installs them: large)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install $(call psidag,interop)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest tests/exchange/test_interop.py

test-slow: $(READY)  ## Run the slow tests
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 2 --dist loadfile -m slow

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

docs: $(READY)  ## Build the site into docs/_build/html (runs every example) and check it
	@echo "==> sphinx"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install $(call psidag,docs$(,)test)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -q -m site tests/site
	@echo "==> Open docs/_build/html/index.html"

bench: $(READY)  ## Run the benchmarks; each prints its own table
	@for file in benchmarks/*.py; do echo "==> $$file"; PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python $$file || exit 1; done

bundle:  ## Rebuild the page of the report from src/psidag/view/web (takes node and npm)
	cd src/psidag/view/web && npm ci --no-audit --no-fund && npm run --silent build

browser:  ## Install the browser that the tests of the report drive, where there is none and it can be done
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "==> Installing Chromium"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null; \
	else echo "Install Chromium and ChromeDriver to run the tests of the report"; fi

wheel:  ## Build a wheel into dist/
	$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:  ## Remove everything that was made
	rm -rf .venv .venv-wheel build dist
