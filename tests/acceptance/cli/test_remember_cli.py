"""The first commands people type: remember, edit, and the import of their chats."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import Command
from tests.unit.importers.chat_forms import write_form, write_zip

pytestmark = pytest.mark.in_turns

TEXT = "The spare key hangs behind the harbour clock."


def test_remember_says_what_is_new_the_same_and_similar(pgrecall: Command) -> None:
    options = ("--key", "spare", "--layer", "entity", "--tag", "home", "--tag", "key", "--title", "Spare key")
    made = pgrecall(
        "remember", TEXT, *options, "--metadata", "room=hall", "--session", "s", "--at", "2026-01-02"
    )
    assert (made.code, made.out) == (0, "Stored as spare (id 1).\n")
    stored = pgrecall("show", "spare", "--json").json
    assert (stored["layer"], stored["tags"], stored["metadata"]) == (
        "entity",
        ["home", "key"],
        {"room": "hall"},
    )
    assert (stored["session_id"], stored["occurred_at"][:10]) == ("s", "2026-01-02")

    again = pgrecall("remember", TEXT, "--layer", "entity", "--title", "Spare key")
    assert (again.code, again.out) == (0, "Unchanged: it is already stored as spare (id 1).\n")
    near = pgrecall("remember", TEXT.upper(), "--json")
    assert near.json["outcome"] == "created"
    assert near.json["similar"] == {"id": 1, "key": "spare", "similarity": 1.0}
    told = pgrecall("remember", TEXT.lower())
    assert (told.code, told.out[:13]) == (0, "Stored as id ")
    assert told.err.startswith("Similar to spare (1.00): `pgrecall show 1` shows it")


def test_remember_with_a_key_changes_what_is_given(pgrecall: Command) -> None:
    options = ("--layer", "entity", "--tag", "home", "--author", "Mira", "--metadata", "room=hall")
    pgrecall("remember", TEXT, "--key", "spare", "--title", "Spare key", "--at", "2026-01-02", *options)
    before = pgrecall("show", "spare", "--json").json
    moved = pgrecall("remember", "It hangs in the shed.", "--key", "spare")
    assert (moved.code, moved.out) == (0, "Updated spare (id 1): body.\n")
    after = pgrecall("show", "spare", "--json").json
    for name in ("title", "layer", "tags", "author", "metadata", "occurred_at"):
        assert after[name] == before[name], name
    again = pgrecall("remember", "It hangs in the shed.", "--key", "spare", "--tag", "home")
    assert again.out == "Unchanged: it is already stored as spare (id 1).\n"


def test_remember_clears_what_is_given_as_empty(pgrecall: Command) -> None:
    options = ("--tag", "home", "--author", "Mira", "--session", "s", "--metadata", "room=hall")
    pgrecall("remember", TEXT, "--key", "spare", "--title", "Spare key", *options)
    cleared = pgrecall(
        "remember", TEXT, "--key", "spare", "--title", "", "--tag", "", "--author", "", "--session", "",
        "--metadata", "{}", "--json",
    )  # fmt: skip
    assert cleared.json["changed"] == ["title", "author", "session_id", "tags", "metadata"]
    stored = pgrecall("show", "spare", "--json").json
    assert [stored[name] for name in cleared.json["changed"]] == ["", None, None, [], {}]
    assert "--author is empty" in pgrecall("remember", TEXT, "--author", " ").err


def test_remember_says_how_much_of_a_very_long_text_has_no_vector(pgrecall: Command) -> None:
    stored = pgrecall("remember", stdin="\u6e2f".encode() * 310_000)
    assert stored.code == 0
    assert re.fullmatch(r"The last \d+,\d{3} characters are not embedded, so .*\n", stored.err)


def test_remember_reads_standard_input(pgrecall: Command) -> None:
    assert pgrecall("remember", stdin=b"from a pipe\n").out == "Stored as id 1.\n"
    assert pgrecall("remember", "-", stdin=b"with a dash\n").out == "Stored as id 2.\n"
    assert [one["body"] for one in pgrecall("list", "--json").json] == ["with a dash", "from a pipe"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (("remember",), b"", "The text is empty."),
        (("remember",), b"\xff", "Standard input is not UTF-8"),
        (("remember", "x", "--layer", "nowhere"), b"", "its layer 'nowhere' is unknown"),
        (("remember", "x", "--at", "soon"), b"", "'soon' is not a date"),
        (("edit", "nobody", "--body", "x"), b"", "nobody"),
        (("edit", "7"), b"", "7"),
    ],
)
def test_bad_input_is_a_sentence(
    pgrecall: Command, arguments: tuple[str, ...], stdin: bytes, words: str
) -> None:
    refused = pgrecall(*arguments, stdin=stdin)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("Error: ")
    assert words in refused.err


def test_an_explanation_names_memories_by_title_and_words_as_typed(pgrecall: Command, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "Winch house.md").write_text("Tomas mends the winch. His tools: [[Shelf]].\n")
    (tmp_path / "notes" / "Shelf.md").write_text("Spanners, oil.\n")
    assert pgrecall("import", str(tmp_path / "notes")).code == 0
    told = pgrecall("search", "who is mending the winches?", "--explain", "--min-relevance", "0").out
    told = " ".join(told.split())
    assert "“mending” and “winches”" in told or "“winches” and “mending”" in told
    assert "its links to “Winch house”" in told


def test_edit_changes_what_is_given(pgrecall: Command) -> None:
    pgrecall("remember", TEXT, "--key", "spare", "--tag", "home", "--author", "Mira")
    assert pgrecall("edit", "spare", "--body", "It hangs in the shed.", "--clear", "author").out == (
        "Updated spare (id 1): author, body.\n"
    )
    stored = pgrecall("show", "spare", "--json").json
    assert (stored["body"], stored["tags"], stored["author"]) == ("It hangs in the shed.", ["home"], None)
    shown = pgrecall("show", "spare").out
    assert re.search("access counts +stored [0-9]+ times?, shown 0 times, used 0 times", shown)
    assert pgrecall("edit", "spare", "--tag", "home").out == "Nothing changed.\n"
    assert pgrecall("edit", "spare", "--tag", "", "--author", "").code == 0
    assert pgrecall("show", "spare", "--json").json["tags"] == []
    nothing = pgrecall("edit", "spare")
    assert (nothing.code, nothing.err.split(" Give")[0]) == (2, "Error: No change was given.")
    assert pgrecall("edit", "spare", "--body", "-", stdin=b"In the attic").code == 0


def test_an_export_of_chats_is_imported_with_what_was_left_out(pgrecall: Command, tmp_path: Path) -> None:
    path = write_form("chatgpt", tmp_path)
    made = pgrecall("import", str(path))
    assert made.code == 0
    assert made.out.startswith("5 created, 0 updated, 0 unchanged; 0 links without a target yet.\n")
    assert "Left out, or completed by assumption:\n" in made.out
    assert "  tool calls and results, which the option tools keeps: 2\n" in made.out
    assert pgrecall("import", str(path)).out.startswith("0 created, 0 updated, 5 unchanged;")
    assert pgrecall("import", str(path), "--tools").out.startswith("2 created, ")
    assert {one["source"] for one in pgrecall("list", "--json").json} == {"chatgpt"}


def test_chats_that_cannot_be_read(pgrecall: Command, tmp_path: Path) -> None:
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 no")
    empty = write_zip(tmp_path / "empty.zip", {"conversations.json": []})
    wrong = write_zip(tmp_path / "wrong.zip", {"conversations.json": "[\n{]"})
    for path, code, words in (
        (tmp_path / "broken.zip", 2, "broken.zip cannot be read"),
        (wrong, 2, "conversations.json is not JSON: line 2, column 2"),
        (empty, 1, "There is nothing to import"),
    ):
        refused = pgrecall("import", str(path), "--format", "chatgpt")
        assert (refused.code, words in refused.err) == (code, True), refused
    assert pgrecall("list").code == 1


def test_a_secret_is_stored_and_named(pgrecall: Command) -> None:
    token = "gh" + "p_" + "a1B2" * 9
    done = pgrecall("remember", f"The token of the build is {token}.", "--key", "token")
    assert (done.code, done.out) == (0, "Stored as token (id 1).\n")
    assert "seems to hold a secret (GitHub Token). `pgrecall plan redact` plans to take it out" in done.err
    assert token not in done.err
    changed = pgrecall("edit", "token", "--body", "The token of the build is in the safe.")
    assert (changed.code, changed.err) == (0, "")
