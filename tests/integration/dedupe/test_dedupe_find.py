"""What is found: bounded, resumable, within a tenant, by vectors and by words; and what stays apart."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest

from pgrecall import Draft, InvalidInput, Memory
from tests.conftest import NOW
from tests.databases import Query
from tests.integration.dedupe.dedupe_tools import CONTRACT, store


def test_each_memory_is_compared_once_and_again_when_its_text_changes(memory: Memory) -> None:
    ids = [store(memory, f"{CONTRACT} number {number}") for number in range(5)]
    assert [memory.plans.find_duplicates(limit=2) for _ in range(4)] == [2, 2, 1, 0]
    memory.edit(ids[0], body=CONTRACT + " number 1", now=NOW)
    assert memory.plans.find_duplicates() == 1
    memory.record_access(ids[1], "used", now=NOW)
    memory.forget(ids[2])
    assert memory.plans.find_duplicates() == 0
    [cluster] = memory.plans.dedupe(now=NOW).clusters
    assert {cluster.keeper.id, *(member.id for member in cluster.members)} == {ids[0], ids[1]}
    with pytest.raises(InvalidInput, match="p_limit is 0"):
        memory.plans.find_duplicates(limit=0)


def test_words_find_what_has_no_vector(query: Query) -> None:
    bodies = [CONTRACT, CONTRACT.upper() + "!", CONTRACT + " soon", "The winch was oiled by Tom"]
    for number, body in enumerate(bodies):
        query("SELECT recall.remember(%s, p_key => %s, p_now => %s)", (body, f"k{number}", NOW))
    query("SELECT recall.refresh_lexemes()")
    assert query("SELECT recall.find_duplicates() AS n")[0]["n"] == 4
    query("SELECT recall.plan_dedupe(p_now => %s)", (NOW,))
    [row] = query("SELECT clusters, planned FROM recall.plans()")
    assert (row["clusters"], row["planned"]) == (1, 2)


def test_many_of_the_same_text_are_one_cluster(memory: Memory) -> None:
    """Each is compared with eight; the best stands for all."""
    ids = [store(memory, CONTRACT + "." * (number % 3)) for number in range(60)]
    plan = memory.plans.dedupe(now=NOW)
    [cluster] = plan.clusters
    assert len(cluster.members) == 59
    assert {cluster.keeper.id, *(member.id for member in cluster.members)} == set(ids)


def test_what_is_not_of_the_text_keeps_memories_apart(memory: Memory) -> None:
    store(memory, CONTRACT)
    store(memory, CONTRACT, layer="episodic")
    store(memory, CONTRACT, author="Ida", role="user")
    store(memory, CONTRACT, author="Tom", role="user")
    store(memory, CONTRACT, occurred_at=NOW - timedelta(days=400), role="tool")
    store(memory, CONTRACT, occurred_at=NOW - timedelta(days=300), role="tool")
    store(memory, CONTRACT, valid_until=NOW + timedelta(days=30))
    pinned = [store(memory, CONTRACT + " soon", pinned=True, layer="episodic") for _ in range(2)]
    plan = memory.plans.dedupe(now=NOW)
    gone = {member.id for cluster in plan.clusters for member in cluster.members}
    assert not gone & set(pinned)
    for cluster in plan.clusters:
        layers = {cluster.keeper.layer, *(member.layer for member in cluster.members)}
        assert len(layers) == 1


def test_turns_of_a_conversation_are_never_merged(memory: Memory) -> None:
    turns = [store(memory, CONTRACT + mark) for mark in (".", "!")]
    memory.link(turns[0], turns[1], "next", now=NOW)
    assert memory.plans.dedupe(now=NOW).clusters == ()


def test_contradictions_are_proposed_and_not_linked(memory: Memory, query: Query) -> None:
    one = store(memory, "The door code of the old boathouse near the market in Alden is 4711")
    other = store(memory, "The door code of the old boathouse near the market in Alden is 8812")
    plan = memory.plans.dedupe(now=NOW)
    assert plan.clusters == ()
    [proposed] = plan.report.contradictions
    assert (proposed.src, proposed.dst, proposed.reason) == (one, other, "different numbers (4711; 8812)")
    assert query("SELECT count(*) AS n FROM recall.link")[0]["n"] == 0
    memory.link(one, other, "contradicts", now=NOW)
    assert memory.plans.dedupe(now=NOW).report.contradictions == ()


@pytest.mark.parametrize("pinned", [False, True])
def test_memories_linked_as_contradicting_are_not_proposed_for_a_third_with_the_same_words(
    memory: Memory, pinned: bool
) -> None:
    one, other, third = (store(memory, CONTRACT + mark) for mark in (".", "!", "?"))
    if pinned:
        memory.pin(third)
    memory.link(one, other, "contradicts", now=NOW)
    [cluster] = memory.plans.dedupe(now=NOW).clusters
    assert len({one, other} & {cluster.keeper.id, *(member.id for member in cluster.members)}) == 1


def test_a_plan_with_contradictions_is_exported_and_imported(memory: Memory) -> None:
    store(memory, "The door code of the old boathouse near the market in Alden is 4711")
    store(memory, "The door code of the old boathouse near the market in Alden is 8812")
    plan = memory.plans.dedupe(now=NOW)
    file = io.BytesIO()
    memory.export.write(file, now=NOW)
    file.seek(0)
    copy = memory.for_tenant("copy")
    copy.export.read(file)
    [imported] = copy.plans.list()
    [proposed] = copy.plans.get(imported.id).report.contradictions
    assert proposed.reason == plan.report.contradictions[0].reason


def test_another_tenant_has_no_part_in_it(memory: Memory) -> None:
    store(memory, CONTRACT)
    other = memory.for_tenant("other")
    other.remember_many([Draft(CONTRACT, key="theirs")], now=NOW)
    assert memory.plans.dedupe(now=NOW).clusters == ()
    assert other.plans.dedupe(now=NOW).clusters == ()
    assert len(other.plans.list()) == 1


def test_the_job_plans_and_merges_nothing(memory: Memory, query: Query) -> None:
    store(memory, CONTRACT)
    store(memory, CONTRACT + "!")
    run = memory.jobs.run("dedupe", now=NOW)
    assert run is not None
    [plan] = memory.plans.list()
    assert (plan.state, plan.planned) == ("planned", 1)
    assert query("SELECT count(*) AS n FROM recall.memory WHERE archived_at IS NOT NULL")[0]["n"] == 0


def test_a_plan_is_limited_and_goes_stale(memory: Memory) -> None:
    for text in ("red buoy", "blue boat"):
        for mark in (".", "!"):
            store(memory, f"{CONTRACT} about the {text}{mark}")
    plan = memory.plans.dedupe(max_count=1, now=NOW)
    assert (plan.report.found, plan.report.planned, plan.report.capped) == (2, 1, 1)
    with pytest.raises(InvalidInput, match="has expired"):
        memory.plans.apply(plan.id, now=NOW + timedelta(days=8))
    for arguments in ({"min_similarity": 0.1}, {"max_count": 0}, {"layers": ["nowhere"]}, {"layers": []}):
        with pytest.raises(InvalidInput):
            memory.plans.dedupe(**arguments)


def test_a_title_that_says_more_names_something_else(memory: Memory) -> None:
    """The same settings in the notes on two themes of a real vault, `Sanctum` and `Sanctum reborn`."""
    store(memory, CONTRACT, title="Sanctum > Settings")
    reborn = store(memory, CONTRACT, title="Sanctum reborn > Settings")
    again = store(memory, CONTRACT + ".", title="Sanctum Reborn: Settings")
    [cluster] = memory.plans.dedupe(now=NOW).clusters
    assert {cluster.keeper.id, *(member.id for member in cluster.members)} == {reborn, again}


@pytest.mark.parametrize(
    "title", ["{{title}}", "{{title}} > Links", "<% tp.file.title %>", "{% name %}", "Log of ${day}"]
)
def test_templates_are_kept_even_if_they_are_alike(memory: Memory, title: str) -> None:
    """A real vault has the same few words in the templates of a concept, a note and a guide."""
    for _ in range(3):
        store(memory, "#placeholder/description of it, with links to related notes", title=title)
    store(memory, "#placeholder/description of it, with links to related notes")
    assert memory.plans.dedupe(now=NOW).clusters == ()


def test_what_tells_of_placeholders_is_no_template(memory: Memory) -> None:
    text = "Put {{title}} or <% tp.file.title %> into the heading, and ${day} into the file name"
    title = "How {templates} work, at 5% of $4"
    kept = {store(memory, text, title=title), store(memory, text + ".", title=title)}
    [cluster] = memory.plans.dedupe(now=NOW).clusters
    assert {cluster.keeper.id, *(member.id for member in cluster.members)} == kept


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hide secrets in your notes.", "Hide secrets in your vault."),
        ("Saves the clipboard to a new note.", "Saves the clipboard to a new notice."),
        (
            "Leave the pump on and the lamp off. Keep the fan on.",
            "Leave the pump on and the lamp off. Keep the fan off.",
        ),
    ],
)
def test_a_word_that_was_replaced_counts_even_if_the_rest_of_the_text_has_it(
    memory: Memory, one: str, other: str
) -> None:
    """Two snapshots of a real vault, whose notes all end with `This note in GitHub`."""
    footer = "\n\nEdit this note in GitHub, copy this note, or download this vault: obsidian.example/hub"
    for text in (one, other):
        store(memory, text + footer, title="Meld Encrypt")
    assert memory.plans.dedupe(now=NOW).clusters == ()


def test_the_keeper_says_a_word_as_often_as_the_others(memory: Memory) -> None:
    """The words that only one has occur elsewhere in both texts, so that both have the same words."""
    footer = " based on the current line.\n\nOpen this note in Obsidian and copy it"
    longer = store(memory, "Searches Obsidian and Anki notes" + footer)
    shorter = store(memory, "Searches Anki notes" + footer)
    for _ in range(3):
        memory.record_access(shorter, "used", now=NOW)
    [cluster] = memory.plans.dedupe(now=NOW).clusters
    assert cluster.keeper.id == longer


def test_a_pair_that_only_one_side_finds_is_kept(memory: Memory, query: Query) -> None:
    memory.settings.set("dedupe.neighbours", 1)
    longer = store(memory, CONTRACT + " soon")
    store(memory, CONTRACT)
    store(memory, CONTRACT + "!")
    pairs = "SELECT src, dst FROM recall.duplicate_pair ORDER BY src, dst"
    assert memory.plans.find_duplicates(limit=1) == 1
    [found] = query(pairs)
    assert found["src"] == longer
    assert memory.plans.find_duplicates() == 2
    assert found in query(pairs)
    memory.edit(found["dst"], body="The winch was oiled by Tom", now=NOW)
    memory.plans.find_duplicates()
    assert found not in query(pairs)


@pytest.mark.parametrize(
    ("one", "other"), [("{{title}}", "{{title}}"), ("Sanctum", "Sanctum reborn"), ("Winches", "Ropes")]
)
def test_a_pair_that_was_stored_under_an_older_rule_of_titles_is_not_planned(
    memory: Memory, query: Query, one: str, other: str
) -> None:
    """Pairs stay in the database over an upgrade; a plan judges their titles by the rule of today."""
    ids = [store(memory, CONTRACT + end, title="Contract") for end in (".", "!")]
    assert len(memory.plans.dedupe(now=NOW).clusters) == 1
    for memory_id, title in zip(ids, (one, other), strict=True):
        query("UPDATE recall.memory SET title = %s WHERE id = %s", (title, memory_id))
    assert query("SELECT verdict FROM recall_private.current_pairs('acme')") == []
    [pair] = query("SELECT verdict FROM recall.duplicate_pair")
    assert pair["verdict"] == "same"
    assert memory.plans.dedupe(now=NOW).clusters == ()
