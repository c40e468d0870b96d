"""From revision 0025: pairs that were found by an older comparison are judged again."""

from __future__ import annotations

import psycopg

from pgrecall.schema import migrate
from tests.migration.old_schemas import fill, take_to

PAIR = (
    "WITH pair AS (SELECT min(m.id) AS src, max(m.id) AS dst FROM recall.memory m WHERE m.tenant = 'acme') "
    "INSERT INTO recall.duplicate_pair (tenant, src, dst, verdict, reason, similarity, src_words, dst_words) "
    "SELECT 'acme', p.src, p.dst, 'same', 'the same words', 0.99, 0, 0 FROM pair p"
)
COMPARED = (
    "INSERT INTO recall.compared (tenant, memory_id, content_hash, embedded, min_similarity, words) "
    "SELECT m.tenant, m.id, m.content_hash, false, 0.7, 3 FROM recall.memory m WHERE m.tenant = 'acme'"
)


def test_pairs_of_an_older_comparison_are_judged_again(empty_database: str) -> None:
    take_to(empty_database, "0025")
    fill(empty_database, "0025")
    with psycopg.connect(empty_database) as connection:
        connection.execute(PAIR)
        connection.execute(COMPARED)
    migrate.upgrade(empty_database)
    with psycopg.connect(empty_database) as connection:
        connection.execute("SELECT set_config('recall.tenant', 'acme', false)")
        assert connection.execute("SELECT count(*) FROM recall.duplicate_pair").fetchone() == (0,)
        waiting = connection.execute("SELECT count(*) FROM recall_private.uncompared('acme')").fetchone()
        assert waiting is not None
        assert waiting[0] > 1
        assert connection.execute("SELECT recall.find_duplicates()").fetchone() == waiting
        plan = connection.execute("SELECT (recall.plan_dedupe()) IS NULL").fetchone()
        assert plan == (False,)
