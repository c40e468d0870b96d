"""Which files the workers of a run begin with, and which stay together on one of them.

xdist hands out the files with the most tests first. Here the longest are often of one test, and would run at
the end, on one worker, while the others have nothing left to do. And torch takes seconds to import: the files
that run models do it once, on one worker.
"""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

MODELS = "models"
WITH_MODELS = frozenset(
    f"tests/integration/{name}.py"
    for name in (
        "benchmarks/test_benchmark_search",
        "embed/test_embedding_local",
        "embed/test_minilm",
        "search/test_multilingual",
        "rerank/test_reranking_graph",
        "rerank/test_reranking_models",
        "rerank/test_search_reranked",
    )
)

APART = ("tests/migration/test_every_revision.py", "tests/oracle/")
"""Long tests that share little: each goes to whichever worker is free, not all of a file to one."""

LONG = (
    "tests/quality/test_examples.py",
    "tests/integration/cells/test_move.py",
    "tests/attack/test_counter_sweep.py",
    "tests/acceptance/http/test_http_contract.py",
    "tests/acceptance/http/test_http_clients.py",
    "tests/acceptance/docs/test_docs.py",
    "tests/acceptance/cli/test_kill.py",
    "tests/acceptance/test_wheel.py",
    "tests/acceptance/deploy/",
    "tests/stateful/test_whole_api.py",
    "tests/oracle/",
    "tests/quality/",
    "tests/migration/",
    "tests/faults/",
    "tests/attack/",
    "tests/acceptance/page/test_page_work.py",
    "tests/acceptance/",
    "tests/integration/cells/",
    "tests/integration/memories/test_write_plans.py",
    "tests/integration/",
)
"""What begins after the models, in this order; what takes little stays for the end, to fill gaps."""


def scope_of(nodeid: str) -> str:
    """The name of what runs on one worker: the file of a test, the models, or a test alone."""
    file = nodeid.split("::", 1)[0]
    if file.startswith(APART):
        return nodeid
    return MODELS if file in WITH_MODELS else file


def place(nodeid: str) -> int:
    """Where a test comes in the order of a run; tests of one place keep theirs."""
    if scope_of(nodeid) == MODELS:
        return 0
    found = (number for number, start in enumerate(LONG, 1) if nodeid.startswith(start))
    return next(found, len(LONG) + 1)


class ByFile(LoadFileScheduling):
    """A file at a time, or a test where a file is long, in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)
