"""The command `pgrecall context`: text for a prompt on standard output, the rest beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import Command, Ended

pytestmark = pytest.mark.in_turns

NOW = "2026-11-01"


@pytest.fixture
def stored(pgrecall: Command, tmp_path: Path) -> Command:
    """The command against a database with four notes, two of which say the same."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tides.md").write_text(
        "---\ntitle: Gauge\ndate: 2026-10-01\n---\nThe tide gauge is read at dawn.\n"
    )
    (folder / "again.md").write_text(
        "---\ntitle: Gauge\ndate: 2026-10-02\n---\nthe tide gauge is read at dawn!\n"
    )
    (folder / "moon.md").write_text(
        "---\ndate: 2026-10-03\n---\nThe moon pulls the tide.\n\n[1] faked marker\n"
    )
    (folder / "tea.md").write_text(
        "---\ndate: 2026-09-04\nlayer: episodic\n---\nWe drank tea at high tide.\n"
    )
    assert pgrecall("import", str(folder), "--now", NOW).code == 0
    return pgrecall


def keys(ended: Ended) -> list[str]:
    return [source["key"] for source in ended.json["sources"]]


def test_the_text_alone_goes_to_standard_output(stored: Command) -> None:
    told = stored("context", "tide", "--budget", "400", "--now", NOW)
    assert told.code == 0
    assert told.out.startswith("Memories that may help.")
    assert "> The moon pulls the tide.\n>\n> [1] faked marker\n" in told.out
    assert "· episodic · 2026-09-04\n> We drank tea at high tide.\n" in told.out
    assert told.out.count("at dawn") == 1
    assert told.err.endswith(" of 400 tokens, 3 of 4 memories; left out: 1 near-duplicate.\n")
    assert (
        f"{stored('context', 'tide', '--budget', '400', '--now', NOW, '--json').json['tokens']} of"
        in told.err
    )


def test_a_conversation_completes_the_query(stored: Command, tmp_path: Path) -> None:
    turns = tmp_path / "turns.json"
    turns.write_text('[{"role": "assistant", "content": "Did you read the tide gauge?"}]')
    asked = ("no, when was that?", "--conversation", str(turns), "--now", NOW)
    assert "at dawn" in stored("context", *asked).out
    assert "makes sense only with its conversation" in stored("search", asked[0], "--now", NOW).err
    assert "Searched instead: Did you read the tide gauge?" in stored("search", *asked, "--explain").err
    found = stored("search", *asked, "--json").json
    assert found["completed_query"] == "Did you read the tide gauge?\nno, when was that?"
    for text, said in (("{", "is not JSON"), ("{}", "is not a list of turns"), ("[1]", "Turn 1 of")):
        turns.write_text(text)
        refused = stored("search", *asked)
        assert refused.code == 2
        assert said in refused.err
    broken = Path("/proc/self/mem")
    if broken.exists():  # on Linux, a file whose reading fails
        refused = stored("search", asked[0], "--conversation", str(broken))
        assert (refused.code, refused.err) == (2, f"Error: {broken} cannot be read: Input/output error.\n")


def test_the_json_document(stored: Command) -> None:
    answer = stored("context", "tide", "--json", "--now", NOW).json
    assert set(answer) == {
        "query", "budget_tokens", "text", "tokens", "sources", "left_out", "hits", "skipped", "confidence",
        "search_id", "plan", "model_use",
    }  # fmt: skip
    assert (answer["query"], answer["budget_tokens"], answer["skipped"]) == ("tide", 2000, [])
    assert [hit["key"] for hit in answer["hits"]] == [source["key"] for source in answer["sources"]]
    [left] = answer["left_out"]
    shown = {source["id"]: source["title"] for source in answer["sources"]}
    assert (left["reason"], left["title"], shown[left["other"]]) == ("near_duplicate", "Gauge", "Gauge")


def test_options(stored: Command) -> None:
    def chosen(*options: str) -> list[str]:
        return keys(stored("context", "tide", "--json", "--now", NOW, *options))

    assert chosen("--order", "time")[0] == "tea"
    assert set(chosen("--order", "time")) == set(chosen())
    assert chosen("--layer-quota", "knowledge=0") == ["tea"]
    assert len(chosen("--layer-quota", "knowledge=1", "--layer-quota", "episodic=0")) == 1
    assert chosen("--layer", "episodic") == ["tea"]
    assert chosen("-k", "1") == chosen()[:1]
    assert chosen("--since", "2026-10-03") == ["moon"]
    assert len(chosen("--min-relevance", "1")) == 1  # the best one
    assert len(chosen("--budget", "60")) == 1


def test_shown_memories_are_logged_by_default(stored: Command) -> None:
    def accesses() -> int:
        assert stored("jobs", "run", "fold").code == 0
        return int(stored("show", "moon", "--json").json["vitality"]["accesses"])

    before = accesses()
    for options in (("--no-log",), ()):
        for _ in range(10):  # a showing is a tenth of an access
            assert "> The moon" in stored("context", "moon", *options).out
        assert accesses() == before + (not options)


def test_superseded(stored: Command) -> None:
    assert stored("supersede", "tea", "moon").code == 0
    told = stored("context", "tide tea", "--include-superseded", "--json").json
    assert [(one["key"], one["reason"]) for one in told["left_out"] if one["key"] == "tea"] == [
        ("tea", "superseded")
    ]
    alone = stored("context", "tide tea", "--include-superseded", "--layer", "episodic")
    assert "superseded by id" in alone.out


def test_a_truncated_memory_is_marked(stored: Command, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"key": "long", "body": "' + "The harbour is old. " * 50 + '"}\n')
    assert stored("import", str(tmp_path / "one.jsonl")).code == 0
    cut = stored("context", "harbour", "-k", "1", "--budget", "80")
    assert cut.code == 0
    assert "The harbour is old. …\n" in cut.out
    told = r"Skipped: whole memories: id \d+ does not fit into 80 tokens, so it was cut after a sentence\n"
    assert re.match(told, cut.err)
    none = stored("context", "harbour", "-k", "1", "--budget", "7")
    assert (none.code, none.out) == (1, "")
    assert none.err == (
        "Skipped: the text: not even the beginning of a memory fits into 7 tokens\n"
        "0 of 7 tokens, 0 of 1 memories; left out: 1 over budget.\n"
    )


def test_nothing_found(pgrecall: Command) -> None:
    nothing = pgrecall("context", "anything")
    assert (nothing.code, nothing.out, nothing.err) == (1, "", "Nothing was found.\n")
    assert pgrecall("context", "anything", "--json").json["sources"] == []
