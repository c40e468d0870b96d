"""Several who store the same keys at once, some of them new, never wait for each other in a circle."""

from __future__ import annotations

import json
import random
from itertools import count
from typing import Any

import psycopg

from tests.databases import Query
from tests.integration.access.test_accesses_at_once import at_once

WINDOW, CHOSEN, WRITERS, TURNS = 8, 5, 8, 100
"""Each stores so many of so many keys, among which there is always one that is new."""


def test_who_comes_second_begins_anew_without_a_lock_in_its_hands(database_url: str, query: Query) -> None:
    turns = count()

    def storing(connection: psycopg.Connection[Any], chance: random.Random) -> None:
        newest = next(turns) // WRITERS
        drafts = [
            {"key": f"k{place % 10}-{place}", "body": f"{chance.random()}"}
            for place in chance.sample(range(newest, newest + WINDOW), CHOSEN)
        ]
        connection.execute("SELECT recall.remember_many(%s::jsonb)", (json.dumps(drafts),))

    at_once(database_url, [storing] * WRITERS, turns=TURNS)
    [stored] = query("SELECT count(*) AS memories, count(DISTINCT key) AS keys FROM recall.memory")
    assert stored["memories"] == stored["keys"] > TURNS
