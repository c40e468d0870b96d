"""Copying a memory into a tenant that allows it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from pgrecall import AsyncMemory, InvalidInput, Memory, MemoryNotFound
from pgrecall.settings import Settings
from tests.conftest import NOW
from tests.databases import Query

pytestmark = pytest.mark.in_turns

TOKEN = f"ghp_{'a1B2c3' * 6}"


@pytest.fixture
def team(memory: Memory) -> Memory:
    """A tenant into which acme may copy memories."""
    team = memory.for_tenant("team")
    team.readers.add("acme", may_share=True)
    return team


def test_a_copy_has_the_content_and_its_origin(memory: Memory, team: Memory) -> None:
    earlier = NOW - timedelta(days=9)
    own = memory.remember(
        "Aram mends the winch", key="winch", title="Winch", tags=("harbour",), role="user", author="mira",
        layer="episodic", occurred_at=earlier, metadata={"mood": "calm"}, context="a diary",
    )  # fmt: skip
    copied = memory.share("winch", "team", now=NOW)
    assert (copied.key, copied.outcome, copied.secrets) == (f"acme#{own.id}", "created", ())
    copy = team.get(copied.id)
    assert (copy.body, copy.title, copy.tags, copy.role, copy.author, copy.layer) == (
        "Aram mends the winch", "Winch", ("harbour",), "user", "mira", "episodic",
    )  # fmt: skip
    assert copy.metadata == {"origin": {"tenant": "acme", "id": own.id, "key": "winch"}}
    assert (copy.occurred_at, copy.created_at, copy.context, copy.source) == (earlier, NOW, "", None)
    assert [hit.id for hit in team.search("who mends the winch", log=False).hits] == [copied.id]


def test_sharing_again_updates_the_copy_and_keeps_what_the_other_tenant_added(
    memory: Memory, team: Memory
) -> None:
    memory.remember("Aram mends the winch", key="winch", tags=("harbour",))
    first = memory.share("winch", "team")
    assert memory.share("winch", "team").outcome == "unchanged"
    team.edit(first.id, context="said at the pier", metadata={**team.get(first.id).metadata, "seen": True})
    memory.edit("winch", body="Lale mends the winch", tags=())
    again = memory.share("winch", "team")
    assert (again.id, again.outcome) == (first.id, "updated")
    copy = team.get(first.id)
    assert (copy.body, copy.tags, copy.context, copy.metadata["seen"]) == (
        "Lale mends the winch", (), "said at the pier", True,
    )  # fmt: skip
    assert [version.body for version in team.history.versions(first.id)][-1] == "Aram mends the winch"
    assert len(team.list()) == 1


def test_without_the_right_nothing_is_copied(memory: Memory, team: Memory) -> None:
    memory.remember("Aram mends the winch", key="winch")
    memory.share("winch", "team")
    for change in (lambda: team.readers.add("acme"), lambda: team.readers.remove("acme")):
        change()
        memory.edit("winch", body=f"Lale mends the winch {change}")
        with pytest.raises(
            InvalidInput, match=r"Tenant team does not let tenant acme share memories with it\."
        ):
            memory.share("winch", "team")
    assert [one.body for one in team.list()] == ["Aram mends the winch"]
    with pytest.raises(InvalidInput, match="Tenant acme does not let tenant acme share"):
        memory.share("winch", "acme")
    with pytest.raises(MemoryNotFound):
        memory.share("nothing", "team")


def test_what_the_other_tenant_forgot_is_not_brought_back(memory: Memory, team: Memory) -> None:
    memory.remember("Aram mends the winch", key="winch")
    copied = memory.share("winch", "team")
    team.forget(copied.id)
    with pytest.raises(InvalidInput, match="Tenant team has forgotten its copy of this memory"):
        memory.share("winch", "team")
    assert team.list() == ()
    team.unarchive(copied.id)
    assert memory.share("winch", "team").outcome == "unchanged"
    team.forget(copied.id, hard=True)
    assert memory.share("winch", "team").outcome == "created"


def test_a_memory_of_the_other_tenants_own_is_never_overwritten(memory: Memory, team: Memory) -> None:
    own = memory.remember("Aram mends the winch", key="winch")
    team.remember("The team's winch", key="winch")
    for metadata in ({}, {"origin": {"tenant": "initech", "id": own.id}}):
        team.remember("The team's own", key=f"acme#{own.id}", metadata=metadata)
        with pytest.raises(InvalidInput, match=f"a memory of its own with the key acme#{own.id}"):
            memory.share("winch", "team")
    assert team.get("winch").body == "The team's winch"
    assert team.get(f"acme#{own.id}").body == "The team's own"


def test_a_directive_becomes_a_statement(memory: Memory, team: Memory) -> None:
    memory.remember("Always answer me in Portuguese, please.", key="rule", role="user")
    assert memory.get("rule").speech_act == "instruction"
    copied = memory.share("rule", "team")
    assert team.get(copied.id).speech_act == "statement"
    memory.edit("rule", body="Never answer me in Portuguese again.")
    memory.share("rule", "team")
    assert team.get(copied.id).speech_act == "statement"
    memory.edit("rule", body="Who speaks Portuguese?")
    memory.share("rule", "team")
    assert team.get(copied.id).speech_act == "question"


def test_secrets_stay_at_home(memory: Memory, team: Memory) -> None:
    memory.remember(f"The token is {TOKEN}", key="token")
    copied = memory.share("token", "team")
    assert copied.secrets == ("GitHub Token",)
    assert team.get(copied.id).body == "The token is [removed: GitHub Token]"
    assert memory.share("token", "team").outcome == "unchanged"
    memory.remember("Elsewhere", key=f"notes/{TOKEN}", title=TOKEN, author=TOKEN, tags=("safe", TOKEN))
    copied = memory.share(f"notes/{TOKEN}", "team")
    assert copied.secrets == ("GitHub Token",)
    assert "[removed: GitHub Token]" in team.get(copied.id).tags
    assert TOKEN not in repr(team.get(copied.id))


def test_a_layer_that_the_other_tenant_lacks_becomes_knowledge(memory: Memory, team: Memory) -> None:
    memory.layers.set("dreams")
    memory.remember("The winch sang", key="dream", layer="dreams")
    assert team.get(memory.share("dream", "team").id).layer == "knowledge"


def test_in_sql_a_memory_is_shared_as_get_returns_it(memory: Memory, team: Memory, query: Query) -> None:
    memory.remember("Aram mends the winch", key="winch")
    row = "(SELECT to_jsonb(g) FROM recall.get(recall.id_of('winch')) g)"
    [done] = query(f"SELECT * FROM recall.share('team', {row})")
    assert done["outcome"] == "created"
    assert memory.share("winch", "team").outcome == "unchanged"
    for wrong in ("{}", '{"id": "x"}', "[]", '"7"'):
        with pytest.raises(Exception, match="The memory to share has no id"):
            query("SELECT recall.share('team', %s::jsonb)", (wrong,))
    with pytest.raises(Exception, match="it has neither a title nor a body"):
        query("""SELECT recall.share('team', '{"id": 7, "body": null, "tags": null}')""")
    with pytest.raises(Exception, match="its tags are not a JSON array of texts"):
        query("""SELECT recall.share('team', '{"id": 7, "body": "x", "tags": [1]}')""")


def test_awaited(memory: Memory, team: Memory, settings: Settings) -> None:
    memory.remember("Aram mends the winch", key="winch")

    async def shared() -> str:
        async with AsyncMemory(settings=settings) as client:
            return (await client.share("winch", "team")).outcome

    assert asyncio.run(shared()) == "created"
    assert len(team.list()) == 1
