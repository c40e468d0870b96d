"""Session ids had no limit once. What an earlier version stored is edited, exported and imported."""

from __future__ import annotations

import io

from pgrecall import Memory
from tests.conftest import NOW
from tests.databases import Query

FIRST, SECOND = "s" * 1990 + "1", "s" * 1990 + "2"
SESSIONS = "SELECT DISTINCT session_id FROM recall.{} WHERE tenant = %s AND session_id IS NOT NULL ORDER BY 1"


def test_what_has_a_long_session_comes_back(memory: Memory, query: Query) -> None:
    first = memory.remember("The harbour opens in May.", key="harbour")
    memory.remember("The light is red.", key="light")
    memory.session("s").record_access(first.id, "used", now=NOW)
    query(
        "UPDATE recall.memory SET session_id = CASE key WHEN 'harbour' THEN %s ELSE %s END", (FIRST, SECOND)
    )
    query("UPDATE recall.access SET session_id = %s WHERE session_id = 's'", (FIRST,))
    query(
        "INSERT INTO recall.search_log (tenant, at, shown, query, profile, session_id) "
        "VALUES ('acme', %s, '{}', 'harbour', 'default', %s)",
        (NOW, FIRST),
    )
    written = io.BytesIO()
    memory.export.write(written, now=NOW)
    written.seek(0)
    memory.for_tenant("other").export.read(written)
    one, other = (row["session_id"] for row in query(SESSIONS.format("memory"), ("other",)))
    assert one != other
    assert one.startswith("sss")
    for table in ("access", "search_log"):
        [row] = query(SESSIONS.format(table), ("other",))
        assert row["session_id"] in (one, other)  # the same session as that of the memory


def test_a_memory_with_a_long_session_is_edited(memory: Memory, query: Query) -> None:
    memory.remember("The harbour opens in May.", key="harbour")
    query("UPDATE recall.memory SET session_id = %s", (FIRST,))
    assert memory.edit("harbour", body="The harbour opens in June.").outcome == "updated"
    query("UPDATE recall.memory SET session_id = %s", (FIRST,))
    assert memory.remember("The harbour opens in July.", key="harbour").outcome == "updated"
