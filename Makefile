# The two commands of a newcomer are `make demo` and `make test`; `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV ?= .venv
BIN := $(VENV)/bin
# Extras that `make test` installs; `make test EXTRAS=` leaves them out.
EXTRAS ?= spark
# Extras that the archive of `make offline` has, such as OFFLINE_EXTRAS=spark.
OFFLINE_EXTRAS ?=
# Processes that `make test` runs tests in: two wait where two compute. Pytest alone takes one.
JOBS ?= 4
# Further arguments of pytest, such as PYTEST_ARGS='-k redact'.
PYTEST_ARGS ?=

PIP := $(BIN)/python -m pip --disable-pip-version-check
DEMO_STAMP := $(VENV)/.installed-demo
TEST_STAMP := $(VENV)/.installed-test-$(or $(subst $() ,,$(EXTRAS)),plain)
DOCS_STAMP := $(VENV)/.installed-docs
PYZ_STAMP := $(VENV)/.installed-pyz
KERNEL_STAMP := $(VENV)/.built-kernel
KERNEL := src/metashell/kernel

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(DEMO_STAMP) $(KERNEL_STAMP) ## Open the shell on the bundled sample, a real controller's directory
	@$(BIN)/metashell demo

# Tests start the program often: where no bytecode is written, each start compiles all of it.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile

# What `make test` leaves to CI, which takes all.
LEFT := meta or slow
CHOSEN = $(if $(filter-out default,$(METASHELL_TEST_PROFILE)),,-m 'not ($(LEFT))')

.PHONY: test
test: $(TEST_STAMP) $(KERNEL_STAMP) ## Install everything and run the tests
	@$(PYTEST) $(CHOSEN) $(PYTEST_ARGS)

.PHONY: test-fast
# Each process collects all tests, which counts where few of them run.
test-fast: JOBS = 3
test-fast: $(TEST_STAMP) $(KERNEL_STAMP) ## Run a case of each test that takes no second
	@$(PYTEST) --fast $(PYTEST_ARGS)

.PHONY: test-rest
test-rest: $(TEST_STAMP) $(KERNEL_STAMP) ## Run the tests that `make test` leaves to CI
	@$(PYTEST) -m '$(LEFT)' $(PYTEST_ARGS)

# Tests of what the kernel does too: it is switched off for them.
NUMPY_TESTS := tests/approved tests/damage tests/unit/log tests/unit/records tests/unit/schema \
	$(patsubst %,tests/property/test_%.py,agreement any_bytes columnar frames keyed_frames \
		lazy_records log_lines splits varint window)

.PHONY: test-numpy
test-numpy: $(TEST_STAMP) ## Run the tests of reading and decoding without the kernel in C
	@METASHELL_KERNEL=off $(PYTEST) $(CHOSEN) $(PYTEST_ARGS) $(NUMPY_TESTS)

.PHONY: kernel
kernel: | $(BIN)/python ## Build the kernel's library, if there is a C compiler
	@PYTHONPATH=src $(BIN)/python scripts/build_kernel.py

.PHONY: check
check: $(TEST_STAMP) ## Lint, format, types, layers and the forge's workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	scripts/check-forge-files $(BIN)/check-jsonschema

.PHONY: format
format: $(TEST_STAMP) ## Format the code and sort its imports
	$(BIN)/ruff check --fix-only --select I .
	$(BIN)/ruff format .

.PHONY: bench-smoke
bench-smoke: $(TEST_STAMP) $(KERNEL_STAMP) ## Run every benchmark once at a tiny size, without judging times
	$(BIN)/python benchmarks/run.py --smoke

# Arguments of scripts/mutants.py, such as MUTANTS_ARGS='--count 60 --seed 1'.
MUTANTS_ARGS ?=

.PHONY: mutants
mutants: $(TEST_STAMP) $(KERNEL_STAMP) ## Plant bugs in functions drawn at random, and see which of them tests find
	@$(BIN)/python scripts/mutants.py $(MUTANTS_ARGS)

.PHONY: offline
offline: $(DEMO_STAMP) ## Write dist/metashell-*.tar, which installs without a package index
	@$(BIN)/python scripts/make_offline.py $(addprefix --extra ,$(OFFLINE_EXTRAS)) dist

.PHONY: pyz
pyz: $(DEMO_STAMP) $(PYZ_STAMP) ## Write dist/metashell.pyz, one executable file for Python of this version
	@$(BIN)/python scripts/make_pyz.py dist

.PHONY: docs
docs: $(DOCS_STAMP) ## Build the site of the documents in build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site: look at it with $(BIN)/python -m http.server --directory build/site"

# Builds, checks, installs and tries a release as docs/releasing.md says, and publishes nothing.
.PHONY: release-check
release-check: $(TEST_STAMP) ## Try a release without publishing it
	@$(BIN)/python scripts/release.py check

.PHONY: clean
clean: ## Remove the virtual environment and what tools left behind
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	rm -f $(KERNEL)/_kernel.*
	find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +

# A dangling interpreter (Python was upgraded or removed) counts as missing, so it is made again.
$(BIN)/python:
	@bash scripts/make-venv $(VENV)

# Without a C compiler this says so in one line, once.
$(KERNEL_STAMP): $(wildcard $(KERNEL)/csrc/*) scripts/build_kernel.py | $(BIN)/python
	@PYTHONPATH=src $(BIN)/python scripts/build_kernel.py
	@touch $@

$(DOCS_STAMP) $(PYZ_STAMP): $(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	@$(PIP) install --quiet --upgrade 'pip>=25.1'
	@$(PIP) install --quiet --group $*
	@touch $@

# The kernel comes first: pip would build it too, and say nothing.
$(DEMO_STAMP): pyproject.toml | $(BIN)/python $(KERNEL_STAMP)
	@echo "Installing metashell into $(VENV)"
	@$(PIP) install --quiet --editable .
	@touch $@

$(TEST_STAMP): pyproject.toml scripts/ensure-java scripts/ensure-tmux | $(BIN)/python $(KERNEL_STAMP)
	@scripts/ensure-tmux
	@$(if $(findstring spark,$(EXTRAS)),scripts/ensure-java,:)
	@echo "Installing metashell$(if $(EXTRAS),[$(EXTRAS)]) and the development tools into $(VENV)"
	@$(PIP) install --quiet --upgrade 'pip>=25.1'
	@$(PIP) install --quiet --editable '.$(if $(EXTRAS),[$(EXTRAS)])' --group dev
	@touch $@ $(DEMO_STAMP)
