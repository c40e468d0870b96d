# All targets work in a fresh clone with only Python 3.11 or newer installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Modules are compiled when first imported, because most of torch's thousands never are. Bytecode is always kept;
# otherwise each process that a test starts would compile its imports again.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/python -m pip --disable-pip-version-check -qq install --no-compile
INSTALLED := $(VENV)/.installed
DEVELOPING := $(VENV)/.developing
# The tested build of torch, installed first; the packages require a range of versions.
TORCH := torch==2.13.0

.PHONY: help demo test check fuzz bench soak clean
.DEFAULT_GOAL := help

help:
	@echo "make demo                run the command line on the example vault: three searches and one access"
	@echo "make test                run check, then every test"
	@echo "make fuzz MINUTES=10     try many more random inputs than the tests do"
	@echo "make check               run ruff and mypy, check the import contracts and generated code"
	@echo "make bench               measure speed at 50,000 memories, each figure relative to a lower bound"
	@echo "make bench FULL=1        the same at 1,000,000 memories (an hour); JSON=1 prints JSON"
	@echo "make bench LOCOMO=path   measure quality on LoCoMo conversations"
	@echo "make soak                simulate a day of use in minutes and check that nothing grows without bound"
	@echo "make clean               remove everything these targets made, including the demo's data"

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "pgrecall needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1)." \
			"Name another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing into $(VENV); the first time this takes a minute or two."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) $(TORCH)
	@$(INSTALL) --editable '.[all]'
	@touch $@

$(DEVELOPING): $(INSTALLED)
	@$(INSTALL) --editable '.[all,dev]'
	@touch $@

demo: $(INSTALLED)
	@$(BIN)/python scripts/demo.py

# Three workers for two cores, because many tests wait; one thread each, because models would compete for cores.
# On CI, failed tests run once more, alone. Tests that pass then are reported in the log as flaky and do not fail the
# build; on a developer's machine they do.
PYTEST := $(BIN)/python -m pytest
test: export OMP_NUM_THREADS := 1
test: check
ifdef CI
	$(PYTEST) -n 3 --dist loadfile --no-loadscope-reorder || { \
		echo "Some tests failed and now run once more, alone. Tests that pass now are flaky: fix them."; \
		$(PYTEST) --last-failed --last-failed-no-failures none --verbose; }
else
	$(PYTEST) -n 3 --dist loadfile --no-loadscope-reorder
endif

check: $(DEVELOPING)
	$(BIN)/ruff check
	$(BIN)/python scripts/generate_sync.py --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

fuzz: MINUTES ?= 10
fuzz: $(DEVELOPING)
	@$(BIN)/python -m tests.fuzz $(MINUTES)

bench: $(INSTALLED)
ifdef LOCOMO
	@$(BIN)/python -m benchmarks.locomo $(LOCOMO) $(if $(JSON),--json)
else
	@$(BIN)/python -m benchmarks.speed $(if $(FULL),--full,--quick) $(if $(JSON),--json)
endif

soak: $(DEVELOPING)
	$(BIN)/python -m benchmarks.soak $(SOAK)

clean:
	rm -rf $(VENV) .demo build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
