"""How often what changed is found before what it changed, and what changes nothing after it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from benchmarks.examples.judged import EXAMPLES
from pgrecall import Draft, Memory
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.search.embed.local import LocalEmbedder
from tests.quality.judged_examples import database
from tests.quality.test_follow_ups import needs_model

DAY = datetime(2026, 3, 1, tzinfo=UTC)
LINES = (EXAMPLES / "judged" / "changes.jsonl").read_text(encoding="utf-8").splitlines()
PAIRS = [json.loads(line) for line in LINES]


@needs_model
def test_what_changed_is_found_before_what_it_changed(server: EmbeddedServer) -> None:
    drafts = [
        Draft(pair[said], key=f"{said}-{n}", source=f"{n}", role="user", occurred_at=at)
        for n, pair in enumerate(PAIRS)
        for said, at in (("older", DAY), ("newer", DAY + timedelta(days=30)))
    ]
    newer_first = {True: 0, False: 0}
    with database(server) as url, Memory(url, tenant="acme", embedder=LocalEmbedder()) as memory:
        memory.remember_many(drafts)
        for n, pair in enumerate(PAIRS):
            found = memory.search(pair["query"], sources=[f"{n}"], vitality_mode="off", log=False)
            newer_first[pair["changes"]] += found.hits[0].key == f"newer-{n}"

    assert newer_first[True] >= 20
    assert newer_first[False] <= 3
