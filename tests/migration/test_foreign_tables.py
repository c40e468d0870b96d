"""Tables that somebody has put into the schema: an upgrade goes on without them, and says whose they are."""

from __future__ import annotations

import psycopg
import pytest

from pgrecall.schema import migrate
from pgrecall.schema.roles import access_problems

NOT_OURS = {"recall.mine is not the owner's", "recall.mine has no row security"}


@pytest.mark.parametrize("owner", ["recall_owner", "current_user"])
def test_a_table_of_others_stops_no_upgrade(database_url: str, owner: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE TABLE recall.mine AS SELECT 1 AS a")
        connection.execute(f"ALTER TABLE recall.mine OWNER TO {owner}".encode())
        connection.execute("DROP TYPE recall.hit_ground, recall.search_ground CASCADE")
        connection.execute("UPDATE recall.alembic_version SET version_num = '0050'")
    done = migrate.upgrade(database_url)
    assert done.after.revision == migrate.head_revision()
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT a FROM recall.mine").fetchall() == [(1,)]
        left = {problem.problem: problem.fix for problem in access_problems(connection)}
        assert {*left} == (NOT_OURS if owner == "current_user" else set())
        for fix in left.values():
            connection.execute(fix.encode())
        assert not access_problems(connection)
