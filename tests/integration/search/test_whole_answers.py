"""A search finds every memory with a word, also where Postgres is told to look for some of them only."""

from __future__ import annotations

import psycopg
from psycopg.conninfo import make_conninfo

from pgrecall import Draft, Memory
from tests.conftest import NOW


def test_no_setting_makes_an_index_leave_words_out(memory: Memory, database_url: str) -> None:
    drafts = [Draft(f"Note {number} of the harbour", key=f"n{number}") for number in range(1_000)]
    memory.remember_many([*drafts, *(Draft(f"The winch {n}", key=f"w{n}") for n in range(20))], now=NOW)
    memory.maintenance.refresh_statistics(now=NOW)
    limited = make_conninfo(database_url, options="-c gin_fuzzy_search_limit=1")
    with psycopg.connect(limited, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE recall.memory")
        connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
        found = connection.execute("SELECT id FROM recall.search('winch', p_k => 50)").fetchall()
    assert len(found) == 20
