PYTHON ?= python3
VENV ?= .venv
DIR ?= tests/reference/observed
BIN := $(VENV)/bin
RUNS := $(VENV)/.installed
STAMP := $(VENV)/.installed-tools
KUBECTL := $(VENV)/.kubectl
PACKAGES := reprieve reprieve-minicluster reprieve-study

.DEFAULT_GOAL := help
.PHONY: help venv browser demo test coverage bench soak study dist layout observed format lock clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

venv: $(STAMP)  ## the virtual environment with all tools, made again when a lock or the project file changes

# What running needs, and no more: a demo should not wait for type checkers.
$(RUNS): requirements.lock $(wildcard packages/*/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Reprieve needs Python 3.11 or newer, and '$(PYTHON)' is not: name one with PYTHON=…, as in 'make $(or $(MAKECMDGOALS),venv) PYTHON=python3.12'." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python deploy/install.py requirements.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation $(PACKAGES:%=-e packages/%)
	@touch $@

$(STAMP): requirements-dev.lock $(RUNS)
	@$(BIN)/python deploy/install.py requirements-dev.lock
	@# `tests` is one namespace in every process: the repository's, and that of each distribution.
	@printf '%s\n' $(CURDIR) $(PACKAGES:%=$(CURDIR)/packages/%) > "$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')/tests.pth"
	@touch $@

# One more than two cores: tests with real processes wait more than they work.
WORKERS = 3
# They start hundreds, and each would compile the source anew in an environment that forbids to keep bytecode.
test coverage soak: export PYTHONDONTWRITEBYTECODE =

# For the end-to-end tests: pinned like everything else, without root.
$(KUBECTL): tests/e2e/kubectl.lock | $(STAMP)
	@echo "putting kubectl into $(VENV)"
	@$(BIN)/python -m tests.e2e.install_kubectl
	@touch $@

# No stamp: a virtual environment may outlive the machine's packages, and looking takes no time.
browser: $(STAMP)
	@$(BIN)/python -m tests.browser.install_chromium

demo: $(RUNS)  ## scenes that show what Reprieve does
	@$(BIN)/reprieve demo $(ARGS)

test: venv $(KUBECTL) browser  ## format, lint, types, import contracts, every test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@for package in $(PACKAGES); do $(BIN)/lint-imports --config packages/$$package/pyproject.toml || exit 1; done
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

coverage: venv $(KUBECTL) browser  ## branch coverage of the same tests, as a table
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov=reprieve --cov=reprieve_minicluster --cov=reprieve_study --cov-branch --cov-report=term:skip-covered $(ARGS)

soak: venv $(KUBECTL) browser  ## the same tests, with many more random examples
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --hypothesis-profile=soak $(ARGS)

bench: venv  ## how long decisions take, also against another revision: ARGS="--list", ARGS="--case G500 --against REV"
	@$(BIN)/python -m benchmarks $(ARGS)

study: $(RUNS)  ## our own study, into build/study: three policies, a week on 200 nodes, ten seeds; it goes on where it was cut off
	@$(BIN)/reprieve simulate generated:days=7,nodes=200,load=0.5,gangs=0.6,mean_hours=24 \
	  --policy Upstream --policy PriorityCeiling --policy LeastDisturbance --seeds 10 --out build/study $(ARGS)

observed: venv  ## compare with recorded decisions of kube-scheduler: DIR=… FAMILY=…
	@$(BIN)/python -m tests.reference.observed_runner $(if $(DIR),--dir $(DIR)) $(if $(FAMILY),--family $(FAMILY))

dist: venv  ## wheels and source distributions of all three, into dist/
	@$(BIN)/python deploy/dist.py

layout: venv  ## the page about the layout, from the heads of modules
	@$(BIN)/python -m tests.architecture.layout

format: venv  ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

PIN = .venv-lock/bin/uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes \
  --no-annotate --custom-compile-command "make lock"

lock:  ## pin what the project files ask for, with hashes; newer versions with ARGS=--upgrade
	@test -x .venv-lock/bin/uv || $(PYTHON) -m venv .venv-lock
	@.venv-lock/bin/python -m pip install -qq --disable-pip-version-check uv==0.13.7
	@$(PIN) --group dev $(ARGS) -o requirements-dev.lock packages/reprieve/pyproject.toml
	@# Running needs less: no tools, but the build backend.
	@echo setuptools | $(PIN) --upgrade --constraint requirements-dev.lock -o requirements.lock packages/reprieve/pyproject.toml -

clean:  ## remove what make made
	rm -rf $(VENV) .venv-lock build dist packages/*/build packages/*/src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
	find packages tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
