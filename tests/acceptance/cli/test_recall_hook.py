"""Recall at the prompt: an editor's hook, the process behind it, and what a session is shown."""

from __future__ import annotations

import html
import json
import socket
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from pgrecall import Memory
from pgrecall.faces.editors.hooks import HOOKS, HookedEditor
from pgrecall.faces.editors.recall import Recall
from pgrecall.faces.editors.recall_process import serve_hooks
from pgrecall.importers.chat.recalled import marked, without_marked
from tests.acceptance.cli.command_tools import Ended
from tests.acceptance.cli.editor_tools import FERRY, Editor, editor, stop, warm
from tests.databases import Query
from tests.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Python has no Unix sockets on Windows")


def test_a_prompt_gets_what_answers_it_once_in_a_session(
    claude: Editor, memory: Memory, query: Query
) -> None:
    memory.remember(FERRY, key="ferry")
    warm(claude)
    text = claude.gets("Where does the ferry berth?")
    assert FERRY in text
    assert "`used`" in text
    assert without_marked(text) == ("", 1)
    assert claude.recalled("where does the ferry berth again") == ""
    assert FERRY in claude.gets("Where does the ferry berth?", session_id="s2")
    memory.edit("ferry", body="The ferry to Inishmore berths at the south quay again.")
    assert "south quay" in claude.gets("Where does the ferry berth?")  # it has changed
    [logged] = query("SELECT query FROM recall.search_log WHERE session_id = 'claude-code/s2'")
    assert logged["query"] == "Where does the ferry berth?"


def test_a_prompt_gets_the_instruction_that_applies(memory: Memory) -> None:
    rule = "From now on, run the linter and the unit tests before every commit, and tell me which failed."
    memory.remember(rule, role="user")
    memory.remember("The tests that Mira runs before every commit take nine minutes.")
    recalled = Recall(memory, "claude").answer({"prompt": "Which tests do I run before every commit?"})
    assert len(recalled.hits) == 2
    assert recalled.hits[0].body == rule
    assert "What the user asked for" in recalled.output


@pytest.mark.parametrize(
    ("name", "field"), [("codex", "session_id"), ("vscode", "sessionId"), ("cursor", "conversation_id")]
)
def test_sessions_are_known_by_the_name_that_their_editor_gives(
    name: HookedEditor, field: str, memory: Memory
) -> None:
    memory.remember(FERRY)
    recall, asked = Recall(memory, name), "Where does the ferry berth?"
    for session, again in (("s1", False), ("s1", True), ("s2", False)):
        recalled = recall.answer({"prompt": asked, field: session})
        assert bool(recalled.hits) is not again
        recall.has_shown(recalled)


@pytest.mark.parametrize("other", [{"cursor_version": "2.0.77"}, {"hookEventName": "UserPromptSubmit"}])
def test_hooks_of_claude_code_are_silent_in_another_program(other: dict[str, str], memory: Memory) -> None:
    """Cursor and VS Code run them beside their own."""
    memory.remember(FERRY)
    event = {"prompt": "Where does the ferry berth?", "session_id": "s1"}
    assert Recall(memory, "claude").answer(event).hits
    assert not Recall(memory, "claude").answer(event | other).hits
    assert Recall(memory, "vscode").answer(event | other).hits


def test_a_prompt_is_asked_without_what_hooks_have_put_before_it(memory: Memory, query: Query) -> None:
    """Gemini CLI puts what the start of the session was told before the first prompt."""
    memory.remember(FERRY)
    told = html.escape(marked("The last session stopped here:\n- user: Which tests do I run?"))
    asked = "Where does the ferry berth?"
    event = {"prompt": f"<hook_context>{told}</hook_context>\n\n{asked}", "session_id": "s1"}
    assert FERRY in Recall(memory, "gemini").answer(event).output
    [logged] = query("SELECT query FROM recall.search_log")
    assert logged["query"] == asked


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "  ",
        "\0",
        "/compact",
        "!ls",
        "# note",
        "How do I reverse a list in Rust?",
        "🚢",
        "word " * 210_000,
    ],
    ids=lambda prompt: prompt[:20],
)
def test_other_prompts_get_nothing(prompt: str, claude: Editor, memory: Memory) -> None:
    memory.remember(FERRY)
    warm(claude)
    assert claude.recalled(prompt) == ""


@pytest.mark.parametrize("odd", ["\0", "\ud83d"])
def test_a_prompt_with_half_a_sign_is_answered(odd: str, claude: Editor, memory: Memory) -> None:
    memory.remember(FERRY)
    warm(claude)
    assert FERRY in claude.gets(f"Where does the ferry{odd} berth?", session_id=f"{odd}s")


def test_what_the_session_says_itself_is_not_recalled(claude: Editor, memory: Memory, tmp_path: Path) -> None:
    memory.remember(FERRY)
    memory.remember("Ferry tickets to Inishmore are sold at the quay.")
    warm(claude)
    transcript = tmp_path / "s1.jsonl"
    line = {"type": "user", "uuid": "u1", "sessionId": "s1", "message": {"role": "user", "content": FERRY}}
    transcript.write_text(json.dumps(line) + "\n{half a li")
    text = claude.gets("Where are ferry tickets to Inishmore sold?", transcript_path=str(transcript))
    assert "sold at the quay" in text
    assert FERRY not in text


def test_what_the_session_said_with_a_secret_is_not_recalled(memory: Memory, tmp_path: Path) -> None:
    """It was captured without it."""
    key = "ghp_" + "Zq8" * 12
    memory.remember(f"{FERRY} [removed: GitHub Token]")
    transcript = tmp_path / "s1.jsonl"
    texts = [f"{FERRY} {key}", *[f"Step {n}." for n in range(12)]]
    lines = [
        {"type": "user", "uuid": f"u{n}", "sessionId": "s1", "message": {"role": "user", "content": text}}
        for n, text in enumerate(texts)
    ]
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    event = {"prompt": "Where does the ferry berth?", "session_id": "s1"}
    assert Recall(memory, "claude").answer(event).hits
    assert not Recall(memory, "claude").answer(event | {"transcript_path": str(transcript)}).hits


@pytest.mark.parametrize("name", [one for one in HOOKS if one != "claude"])
def test_every_editor_gets_its_form(name: str, tmp_path: Path, database_url: str, memory: Memory) -> None:
    memory.remember(FERRY)
    made = editor(name, tmp_path, database_url)
    try:
        warm(made)
        assert FERRY in made.gets("Where does the ferry berth?")
    finally:
        stop(made)
    assert made.run("connect", name, "--undo", "--yes").code == 0
    assert not (made.home / HOOKS[name].user).exists()  # type: ignore[index]


def refused(made: Editor, event: str) -> Ended | None:
    """The refusal of an event; None where it came too late."""
    done = made._run(made.command, event)
    return done if done.code == 1 else None


@pytest.mark.parametrize("event", ["", "[]", "{", '{"prompt": 7}', '{"prompt": "x", "transcript_path": 7}'])
def test_what_is_no_prompt_is_refused_and_the_process_goes_on(
    event: str, claude: Editor, memory: Memory
) -> None:
    memory.remember(FERRY)
    warm(claude)
    done = until(lambda: refused(claude, event), "the refusal")
    assert done.out == ""
    assert done.err.startswith("Error: ")
    assert FERRY in claude.gets("Where does the ferry berth?")


def test_without_a_database_the_prompt_goes_on_with_a_sentence(claude: Editor) -> None:
    url = "postgresql://nobody@127.0.0.1:1/none"
    claude.variables = {
        **claude.variables, "PGRECALL_DATABASE_URL": url, "PGRECALL_CONNECT_TIMEOUT": "1",
    }  # fmt: skip
    ends: list[Ended] = []

    def told() -> bool:
        ends.append(claude.ask("Where does the ferry berth?"))
        return ends[-1].code == 1

    until(told, "the error")
    assert "127.0.0.1" in ends[-1].err
    assert all(done.out == "" for done in ends)


def test_a_folder_that_others_can_use_is_refused(claude: Editor) -> None:
    (claude.runtime / "pgrecall").mkdir()
    (claude.runtime / "pgrecall").chmod(0o777)
    done = claude.ask("Where does the ferry berth?")
    assert (done.code, done.out) == (1, "")
    assert "others can use it" in done.err


def test_a_folder_whose_path_is_too_long_for_a_socket_is_refused(claude: Editor, tmp_path: Path) -> None:
    far, near = tmp_path / ("r" * 100), claude.variables
    far.mkdir(mode=0o700)
    claude.variables = {**near, "XDG_RUNTIME_DIR": str(far)}
    done = claude.ask("Where does the ferry berth?")
    claude.variables = near
    assert (done.code, done.out) == (1, "")
    assert "its path is too long for a socket" in done.err


def test_secrets_in_a_prompt_are_not_logged(
    claude: Editor, memory: Memory, query: Query, tmp_path: Path
) -> None:
    key = "ghp_" + "Zq8" * 12
    memory.remember(FERRY)
    warm(claude)
    transcript = tmp_path / "s1.jsonl"
    message = {"role": "user", "content": f"My key is {key}."}
    transcript.write_text(
        json.dumps({"type": "user", "uuid": "u1", "sessionId": "s1", "message": message}) + "\n"
    )
    assert FERRY in claude.gets(f"Where does the ferry berth? {key}", transcript_path=str(transcript))
    claude.recalled("Does it work?", transcript_path=str(transcript))
    logged = query("SELECT query FROM recall.search_log")
    assert any("[removed: GitHub Token]" in one["query"] for one in logged)
    assert not any(key in one["query"] for one in logged)


def test_the_process_ends_when_nobody_asks(claude: Editor, memory: Memory) -> None:
    path = claude.runtime / "recall"
    serve_hooks(lambda: nullcontext(memory), "claude", path, idle_seconds=0.1)
    assert not path.exists()


def test_a_hook_that_says_nothing_holds_nobody_up(claude: Editor, memory: Memory) -> None:
    memory.remember(FERRY)
    warm(claude)
    [path] = [one for one in (claude.runtime / "pgrecall").iterdir() if one.suffix != ".lock"]
    assert path.stat().st_mode & 0o077 == 0
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(path))
        assert FERRY in claude.gets("Where does the ferry berth?", session_id="s3")
