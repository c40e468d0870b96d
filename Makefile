# Everything here works in a fresh clone with Python 3.11 or newer and nothing else installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Modules are compiled when first imported: of torch's thousands most never are. What is compiled is kept, whatever
# the environment says: else each process that a test starts compiles all it imports again.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/python -m pip --disable-pip-version-check -qq install --no-compile
INSTALLED := $(VENV)/.installed
DEVELOPING := $(VENV)/.developing
# The rest asks for torch by range; this build is what we test with, and it is installed first.
TORCH := torch==2.13.0

.PHONY: help demo test check fuzz bench soak clean
.DEFAULT_GOAL := help

help:
	@echo "make demo                see it work: an example vault, three questions, one use that counts"
	@echo "make test                check, then every test"
	@echo "make fuzz MINUTES=10     many more inputs than the tests try, and what came of them"
	@echo "make check               ruff, mypy, the import contracts, and whether generated code is current"
	@echo "make bench               speed at 50,000 memories, each figure beside the least that could do it"
	@echo "make bench FULL=1        the same at 1,000,000, which takes an hour; JSON=1 prints one document"
	@echo "make bench LOCOMO=path   quality on LoCoMo conversations, as a table"
	@echo "make soak                a day of simulated life in minutes: does anything grow that should not?"
	@echo "make clean               remove what these targets made, the demo's data too"

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

# Three workers for two cores, as many tests wait; with threads of their own their models would wait for each other.
# On CI what fails is tried once more, alone. What passes then is told in the log as a test to mend, and holds up nothing
# else; on a developer's machine it has failed.
PYTEST := $(BIN)/python -m pytest
test: export OMP_NUM_THREADS := 1
test: check
ifdef CI
	$(PYTEST) -n 3 --dist loadfile --no-loadscope-reorder || { \
		echo "Some tests failed, and are tried once more, alone. Those that pass now have failed by chance: mend them."; \
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
