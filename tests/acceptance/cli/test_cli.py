"""Every command, what it prints and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

import pgrecall as package
from pgrecall.schema.migrate import head_revision
from tests.acceptance.cli.command_tools import Command
from tests.conftest import DIMENSIONS

pytestmark = pytest.mark.in_turns

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
NOW = "2026-11-01"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tides.md").write_text(
        "---\ntags: [sea]\ndate: 2026-10-01\n---\nThe tide gauge. See [[Moon]].\n"
    )
    (folder / "moon.md").write_text(
        "---\ndate: 2026-10-02\nproject: atlas\n---\nThe moon pulls the tide. See [[tides]].\n"
    )
    (folder / "tea.md").write_text("---\ndate: 2026-10-03\nlayer: episodic\n---\nWe drank tea at noon.\n")
    return folder


def test_help_and_version_need_no_database(whole_process: Command, bare_pgrecall: Command) -> None:
    told = whole_process("--help")
    assert told.code == 0
    for command in ("init", "import", "search", "show", "access", "link", "forget", "status", "upgrade"):
        assert command in told.out
        assert bare_pgrecall(command, "--help").code == 0
    assert whole_process("--version").out == f"pgrecall {package.__version__}\n"


def test_init_says_what_it_did_and_is_harmless_twice(bare_pgrecall: Command, empty_database: str) -> None:
    refused = bare_pgrecall("status", database_url=empty_database)
    assert refused.code == 3
    assert "not initialised" in refused.err
    assert "pgrecall init" in refused.err
    assert bare_pgrecall("upgrade", database_url=empty_database).code == 3

    kept = f"schema {head_revision()}, embeddings of 8 dimensions.\n"
    first = bare_pgrecall("init", "--dimensions", "8", database_url=empty_database)
    assert (first.code, first.out) == (0, f"Initialised: {kept}")
    for again in ("init", "upgrade"):
        done = bare_pgrecall(again, database_url=empty_database)
        assert (done.code, done.out) == (0, f"Nothing to do: {kept}")
    other = bare_pgrecall("init", "--dimensions", "9", database_url=empty_database)
    assert (other.code, other.out) == (2, "")
    assert "8 dimensions, not 9" in other.err


def test_upgrade_renews_functions_of_another_version(bare_pgrecall: Command, database_url: str) -> None:
    """The revision is today's, the functions are not: as after an update that changed no table."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE recall.setting SET value = '\"old\"' WHERE name = 'schema.functions'")
    refused = bare_pgrecall("status", database_url=database_url)
    assert refused.code == 3
    assert "Run `pgrecall upgrade`" in refused.err
    schema = f"schema {head_revision()}, embeddings of {DIMENSIONS} dimensions.\n"
    for verdict in ("Upgraded the functions", "Nothing to do"):
        done = bare_pgrecall("upgrade", database_url=database_url)
        assert (done.code, done.out) == (0, f"{verdict}: {schema}")


def test_commands_that_embed_nothing_look_for_no_model(pgrecall: Command) -> None:
    assert pgrecall("status", embedder="http").code == 0
    refused = pgrecall("search", "tide", embedder="http")
    assert refused.code == 2
    assert "PGRECALL_EMBEDDER_URL" in refused.err


def test_import_search_show(pgrecall_process: Command, notes: Path) -> None:
    pgrecall = pgrecall_process
    done = pgrecall("import", str(notes))
    assert (done.code, done.err) == (0, "")
    assert done.out == "3 created, 0 updated, 0 unchanged; 0 links without a target yet.\n"

    found = pgrecall("search", "tide gauge", "--now", NOW)
    assert (found.code, found.err) == (0, "")
    assert "tides" in found.out
    assert "The tide gauge." in found.out

    told = pgrecall("search", "tide gauge", "--now", NOW, "--explain")
    assert "the words “gauge” and “tide”" in " ".join(told.out.split())
    assert "log-odds" in told.out

    answer = pgrecall("search", "tide gauge", "--now", NOW, "--json").json
    assert set(answer) == {
        "query", "no_match", "confidence", "answered", "hits", "search_id", "reranked", "arms", "names",
        "skipped", "timings", "staleness", "needs_context", "completed_query", "plan", "model_use",
    }  # fmt: skip
    best = answer["hits"][0]
    assert (best["key"], best["rank"], best["tags"]) == ("tides", 1, ["sea"])
    assert set(best["explanation"]) == {
        "arms", "relevance", "vitality", "score", "query", "profile", "speech_act",
    }  # fmt: skip

    shown = pgrecall("show", "tides", "--json", "--now", NOW).json
    assert shown["id"] == best["id"]
    assert {link["other_key"] for link in shown["links"]} == {"moon"}  # a circle of two
    assert shown["vitality"]["accesses"] == 1
    text = pgrecall("show", str(best["id"]))
    assert text.code == 0
    assert "→ links to moon" in text.out


def test_a_list_has_filters_and_pages(pgrecall: Command, notes: Path) -> None:
    pgrecall("import", str(notes))
    first = pgrecall("list", "--limit", "2", "--json", "--now", NOW)
    assert [listed["key"] for listed in first.json] == ["tea", "moon"]
    rest = pgrecall("list", "--limit", "2", "--json", "--after", first.json[-1]["cursor"], "--now", NOW)
    assert [listed["key"] for listed in rest.json] == ["tides"]
    assert [listed["key"] for listed in pgrecall("list", "--tag", "sea", "--json").json] == ["tides"]
    shown = pgrecall("list", "-n", "1", "--order", "newest", "--now", NOW)
    assert shown.code == 0
    assert "tea" in shown.out
    assert "2026-10-03" in shown.out
    assert f"--after '{first.json[0]['cursor']}'" in shown.err
    empty = pgrecall("list", "--author", "nobody")
    assert (empty.code, empty.out, empty.err) == (1, "", "Nothing was found.\n")
    assert pgrecall("list", "--after", "7").code == 2
    assert pgrecall("list", "--metadata", "half").code == 2


def test_a_list_shows_the_sentence_that_is_the_directive(pgrecall: Command) -> None:
    told = "The build broke again this morning. " * 4 + "From now on, run the linter first. Thanks!"
    assert pgrecall("remember", told, "--role", "user").code == 0
    shown = pgrecall("list", "--directives").out
    assert "From now on, run the linter first." in " ".join(shown.split())
    assert "broke again" not in shown


def test_a_session_is_listed_and_forgotten(pgrecall: Command) -> None:
    for number in range(3):
        session = () if number == 2 else ("--session", "chat-42")
        assert (
            pgrecall("remember", f"Note {number} of the keeper.", "--key", f"n{number}", *session).code == 0
        )

    def listed(*options: str) -> set[str]:
        return {one["key"] for one in pgrecall("list", "--json", *options).json}

    assert listed("--session", "chat-42") == {"n0", "n1"}
    asked = pgrecall("forget", "--session", "chat-42")
    assert (asked.code, "Archive 2 memories of session 'chat-42'? Nothing was archived." in asked.err) == (
        2,
        True,
    )
    for wrong in ((), ("n2", "--session", "chat-42"), ("--session", "chat-42", "--hard", "--yes")):
        assert pgrecall("forget", *wrong).code == 2
    assert listed() == {"n0", "n1", "n2"}
    done = pgrecall("forget", "--session", "chat-42", "--yes")
    assert (done.code, done.out) == (0, "2 memories archived.\n")
    assert listed() == {"n2"}
    assert done.err == "To undo: pgrecall unarchive-session chat-42\n"
    assert pgrecall("forget", "--session", "chat-42", "--yes").code == 1
    assert pgrecall("unarchive-session", "chat-42").out == "2 memories restored.\n"
    assert listed() == {"n0", "n1", "n2"}
    again = pgrecall("unarchive-session", "chat-42")
    assert (again.code, again.err) == (
        1,
        "Nothing of this session was forgotten, or it was restored since.\n",
    )


def test_filters_narrow_the_answer(pgrecall: Command, notes: Path) -> None:
    pgrecall("import", str(notes))

    def keys(*options: str) -> set[str]:
        ended = pgrecall("search", "tide tea moon", "--json", "--now", NOW, *options)
        assert ended.code == (0 if ended.json["hits"] else 1)
        return {hit["key"] for hit in ended.json["hits"]}

    assert keys() == {"tides", "moon", "tea"}
    assert keys("-k", "1") < keys()
    assert keys("--layer", "episodic") == {"tea"}
    assert keys("--layer", "episodic", "--layer", "knowledge") == keys()
    assert keys("--tag", "sea") == {"tides"}
    assert keys("--metadata", "nothing=here") == keys("--source", "nowhere.md") == set()
    shown = pgrecall("show", "tides", "--json").json
    assert "tides" in keys("--source", shown["source"])
    assert keys("--metadata", "project=atlas") == keys("--metadata", '{"project": "atlas"}') == {"moon"}
    assert pgrecall("search", "tide", "--metadata", "half").code == 2
    assert keys("--since", "2026-10-02", "--until", "2026-10-02") == {"moon"}
    assert keys("--since", "30d") == {"moon", "tea"}
    assert keys("--author", "nobody") == set()
    assert keys("--min-relevance", "1") == set()
    assert pgrecall("forget", "tea").code == 0
    assert keys() == {"tides", "moon"}
    assert keys("--include-archived") == {"tides", "moon", "tea"}
    assert " · tea (archived)" in pgrecall("list", "--include-archived").out
    assert pgrecall("supersede", "moon", "tides").out == "Superseded.\n"
    assert pgrecall("supersede", "moon", "tides").out == "It is already superseded.\n"
    assert pgrecall("supersede", "tides", "moon").code == 2
    assert keys() == {"tides"}
    assert keys("--include-superseded") == {"tides", "moon"}


def test_what_is_over_is_found_when_asked_for(pgrecall: Command, tmp_path: Path) -> None:
    over = tmp_path / "over.md"
    over.write_text("---\nvalid_until: 2026-09-01\n---\nThe summer tide table.\n")
    pgrecall("import", str(over))
    assert pgrecall("search", "tide table", "--now", NOW).code == 1
    assert pgrecall("search", "tide table", "--now", NOW, "--include-invalid").code == 0
    assert pgrecall("search", "tide table", "--now", "2026-08-01").code == 0


def test_importing_again_updates_what_changed(pgrecall: Command, notes: Path) -> None:
    pgrecall("import", str(notes))
    assert pgrecall("import", str(notes)).out.startswith("0 created, 0 updated, 3 unchanged")
    (notes / "moon.md").write_text("The moon is full.\n")
    (notes / "tea.md").unlink()
    done = pgrecall("import", str(notes))
    assert done.out.startswith("0 created, 1 updated, 1 unchanged")
    assert "no longer in it" in done.out
    assert "  tea\n" in done.out


def test_import_of_lines_and_of_a_chat(pgrecall: Command, tmp_path: Path) -> None:
    lines = tmp_path / "facts.jsonl"
    lines.write_text('{"key": "a", "body": "Ann likes tea."}\n{"key": "b", "body": "Bob likes rum."}\n')
    assert pgrecall("import", str(lines), "--prefix", "facts/").out.startswith("2 created")
    assert pgrecall("show", "facts/a").code == 0
    assert pgrecall("import", str(EXAMPLES / "chat.json")).out.startswith("188 created")
    assert pgrecall("status", "--json").json["memories"] == 190


def test_import_of_what_other_memories_exported(pgrecall: Command, tmp_path: Path) -> None:
    mem0, facts, other = tmp_path / "mem0.json", tmp_path / "bank.json", tmp_path / "other.txt"
    memory = {"id": "m-1", "memory": "Ann likes green tea.", "user_id": "ann", "categories": ["food"]}
    mem0.write_text(json.dumps({"results": [memory, {"id": "m-2"}]}))
    done = pgrecall("import", str(mem0))
    assert done.out.startswith("1 created")
    assert f"{mem0}: record 2: memory is required." in done.out
    assert pgrecall("import", str(mem0)).out.startswith("0 created, 0 updated, 1 unchanged")

    fact = {
        "id": "f-1",
        "text": "The tea was sold out.",
        "fact_type": "experience",
        "entities": "Ann, Tea Shop",
    }
    seen = {"id": "o-1", "text": "Tea runs out.", "fact_type": "observation", "source_memory_ids": ["f-1"]}
    facts.write_text(json.dumps({"items": [fact, seen], "total": 2, "limit": 100, "offset": 0}))
    assert pgrecall("import", str(facts)).out.startswith("2 created, 0 updated, 0 unchanged; 0 links")
    stored = pgrecall("show", "hindsight/f-1", "--json").json
    assert (stored["layer"], stored["tags"]) == ("episodic", ["Ann", "Tea Shop"])
    assert [(link["relation"], link["other_key"]) for link in stored["links"]] == [
        ("supports", "hindsight/o-1")
    ]
    found = pgrecall("search", "what was sold at the Tea Shop?", "--json").json["hits"]
    assert found[0]["key"] == "hindsight/f-1"

    other.write_text(mem0.read_text())
    assert pgrecall("import", str(other), "--format", "mem0", "--prefix", "p/").out.startswith("1 created")
    assert pgrecall("import", str(other), "--format", "mem1").code == 2


def test_the_first_status_says_once_where_the_server_is(bare_pgrecall: Command, open_folder: Path) -> None:
    done = bare_pgrecall("--data-dir", str(open_folder / "data"), "status")
    assert (done.code, done.err) == (0, "")
    assert done.out.count("Embedded Postgres") == 1


def test_access_link_forget_status(pgrecall: Command, notes: Path) -> None:
    pgrecall("import", str(notes))
    used = pgrecall("access", "tides", "--kind", "used", "--at", NOW, "--now", NOW, "--session", "s1")
    assert used.code == 0
    assert "Used 1 time," in used.out

    assert pgrecall("link", "tides", "tea", "--relation", "supports").out == "Linked.\n"
    assert pgrecall("link", "tides", "tea", "--relation", "supports").out == "They are already linked.\n"

    state = pgrecall("status", "--json").json
    assert (state["memories"], state["dimensions"], state["data_dir"]) == (3, 64, None)
    assert sum(state["access_counts"].values()) == 4
    assert "knowledge" in pgrecall("status").out

    assert pgrecall("forget", "tea").out == "Archived.\n"
    assert pgrecall("forget", "tea").code == 1
    unsure = pgrecall("forget", "tea", "--hard")
    assert unsure.code == 2
    assert "--yes" in unsure.err
    assert pgrecall("forget", "tea", "--hard", "--yes").out == "Deleted.\n"
    assert pgrecall("show", "tea").code == 2
    assert pgrecall("status", "--json", tenant="another").json["memories"] == 0


def test_a_history_counts_once_however_often_it_is_loaded(
    pgrecall: Command, notes: Path, tmp_path: Path
) -> None:
    pgrecall("import", str(notes))
    history = tmp_path / "uses.jsonl"
    uses = [
        {"key": "tides", "kind": "used", "at": f"2026-10-{day:02}T08:00:00+00:00"} for day in range(2, 12)
    ]
    history.write_text("".join(json.dumps(use) + "\n" for use in [*uses, {"key": "gone", "at": NOW}]))
    first = pgrecall("access", "--from", str(history), "--now", NOW)
    assert first.code == 0
    assert first.out.startswith("10 accesses recorded.\n1 could not be used:\n  gone: ")
    assert pgrecall("access", "--from", str(history), "--now", NOW).out.startswith(
        "0 accesses recorded, 10 counted before."
    )
    assert pgrecall("show", "tides", "--json").json["vitality"]["accesses"] == 11


def test_search_compares_use_with_the_medians_after_a_history(
    pgrecall: Command, notes: Path, tmp_path: Path
) -> None:
    """Not with those of the import, when nothing had been used and another day may have been today."""
    pgrecall("import", str(notes))
    history = tmp_path / "uses.jsonl"
    history.write_text(json.dumps({"key": "tides", "kind": "used", "at": "2026-10-02T08:00:00Z"}) + "\n")
    assert pgrecall("access", "--from", str(history), "--now", NOW).code == 0
    loaded = pgrecall("layers", "list", "--json").json
    assert pgrecall("jobs", "run", "vitality", "--now", NOW).code == 0
    assert pgrecall("layers", "list", "--json").json == loaded


def test_digits_are_an_id_unless_the_prefix_says_key(pgrecall: Command, tmp_path: Path) -> None:
    lines = tmp_path / "digits.jsonl"
    lines.write_text('{"key": "first", "body": "One."}\n{"key": "7000", "body": "Two."}\n')
    pgrecall("import", str(lines))
    assert pgrecall("show", "7000").code == 2
    shown = pgrecall("show", "key:7000", "--json").json
    assert shown["body"] == "Two."
    assert pgrecall("show", str(shown["id"]), "--json").json["key"] == "7000"


def test_terminal_escapes_in_a_memory_do_not_reach_the_terminal(pgrecall: Command, tmp_path: Path) -> None:
    lines = tmp_path / "evil.jsonl"
    body = "tide \x1b[2J\x1b]0;owned\x07 [red]gauge[/red] \x9b31m \u202egnol"
    lines.write_text(json.dumps({"key": "evil\x1b[1m", "title": "T\x1b[5m", "body": body}) + "\n")
    assert pgrecall("import", str(lines)).code == 0
    for command in (("search", "tide gauge"), ("show", "key:evil\x1b[1m")):
        shown = pgrecall(*command)
        assert shown.code == 0
        assert not set("\x1b\x07\x9b\u202e") & set(shown.out)
        assert "[red]gauge[/red]" in shown.out


def test_narrow_terminals_and_plain_encodings(
    pgrecall: Command,
    whole_process: Command,
    database_url: str,
    notes: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pgrecall("import", str(notes))
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    shown = whole_process("search", "tide gauge", "--explain", database_url=database_url)
    assert shown.code == 0
    assert shown.out.isascii()
