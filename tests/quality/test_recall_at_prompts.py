"""What recall adds to prompts: over a day at work, and where other people's memories are asked about."""

from __future__ import annotations

import sys
from itertools import cycle
from pathlib import Path

import pytest

from benchmarks.day.__main__ import run
from benchmarks.locomo.data import RememberedVectors
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.faces.editors.recall import Recall
from pgrecall.search.embed.local import LocalEmbedder
from tests.quality.judged_examples import database, examples
from tests.quality.test_follow_ups import needs_model

pytestmark = [
    needs_model,
    pytest.mark.skipif(sys.platform == "win32", reason="Python has no Unix sockets on Windows"),
]
CORPORA = ("harbor-1", "assistant-1", "club-1", "applies-en-1", "applies-en-2")


def test_a_day_stores_no_secret_and_repeats_nothing(server: EmbeddedServer, tmp_path: Path) -> None:
    with database(server) as url:
        figures = run(url, LocalEmbedder(), tmp_path)
    assert [figures[name] for name in ("secrets stored", "secrets added", "repeats")] == [0, 0, 0]
    assert figures["useful additions"] >= 8
    assert figures["additions to a prompt without an answer"] <= 5
    assert figures["tokens at starts"] <= 3 * 600
    assert figures["tokens at prompts"] <= 400 * figures["additions"]


def test_few_prompts_about_what_nobody_remembers_get_memories(server: EmbeddedServer) -> None:
    with examples(server, RememberedVectors(LocalEmbedder()), CORPORA) as asked:
        added = {True: [0, 0], False: [0, 0]}
        answered = [one for one in asked.judged if one.relevant and not one.options.get("conversation")]
        for number, (one, other) in enumerate(zip(answered[::2], cycle(CORPORA), strict=False)):
            for corpus in {one.corpus, other}:
                event = {"prompt": one.query, "session_id": str(number)}
                hits = Recall(asked.clients[corpus], "claude", "all").answer(event).hits
                added[corpus == one.corpus][0] += 1
                added[corpus == one.corpus][1] += bool(hits)
    (own, found), (others, wrong) = added[True], added[False]
    assert others >= 100
    assert wrong <= 0.05 * others
    assert found >= 0.5 * own
