"""Entries in the settings files of editors: added once, removed again, and nothing else changed."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.errors import InvalidInput
from pgrecall.faces.editors.editors import EDITORS, server_entry
from pgrecall.faces.editors.hooks import (
    HOOKS,
    NO_HOOKS,
    HookCommands,
    HookedEditor,
    added_context,
    with_hooks,
)
from pgrecall.faces.editors.settings_files import SettingsFile
from tests.scale import SCALE

ENTRY = {"command": "/opt/a b/pgrecall", "args": ["--tenant", 'o"n\\e', "mcp"], "env": {"A_B": "é \x7f ü"}}
NAMES = st.text("abz_-", min_size=1, max_size=6)
VALUES = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
)
COMMAND = HookCommands(
    ("/my opt/pgrecall", "--tenant", "a b"), ("/my opt/pgrecall-recall", "--tenant", "a b")
)


def json_file(text: str) -> SettingsFile:
    return SettingsFile(Path("settings.json"), text, text)


def toml_file(text: str) -> SettingsFile:
    return SettingsFile(Path("config.toml"), text, text)


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.dictionaries(NAMES, VALUES, max_size=3))
def test_an_entry_is_added_once_and_removed_again(rest: dict[str, Any], servers: dict[str, Any]) -> None:
    before = rest | ({"mcpServers": servers} if servers else {})
    added = json_file(json.dumps(before)).with_entry("mcpServers", "pgrecall", ENTRY)
    assert added.document() == before | {"mcpServers": servers | {"pgrecall": ENTRY}}
    assert added.with_entry("mcpServers", "pgrecall", ENTRY) == added
    assert added.with_entry("mcpServers", "pgrecall", None).document() == before


@pytest.mark.parametrize("indent", [2, 4, "\t"])
def test_json_keeps_its_indentation(indent: int | str) -> None:
    text = json.dumps({"a": {"b": 1}}, indent=indent) + "\n"
    added = json_file(text).with_entry("servers", "pgrecall", ENTRY)
    assert added.with_entry("servers", "pgrecall", None).text == text


COMMENTED = """\
// mine
{
    /* what I use */
    "mcpServers": {
        // do not touch
        "other": {"url": "http://x/*not*/", "args": [1, 2,],},  // "the first"
    },
    "big": 12345678901234567890, "exact": 1.10, // kept as written
}
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_comments_and_trailing_commas_stay(newline: str) -> None:
    text = COMMENTED.replace("\n", newline)
    added = json_file(text).with_entry("mcpServers", "pgrecall", ENTRY)
    assert added.document()["mcpServers"]["pgrecall"] == ENTRY
    before, after = text.splitlines(), added.text.splitlines()
    assert [line for line in after if line in before] == before
    assert added.text.count("\n") == added.text.count(newline)
    assert added.with_entry("mcpServers", "pgrecall", None).text == text
    changed = added.with_entry("mcpServers", "pgrecall", ENTRY | {"args": ["mcp"]})
    assert changed.with_entry("mcpServers", "pgrecall", None).text == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "{}",
        "{ }",
        "{\n}\n",
        '{"a": 1}',
        '{"a": {}, "a": {"b": 2}}',
        "// mine\n",
        '{"servers": {/*x*/}}',
    ],
)
def test_any_form_of_nothing_gets_the_entry(text: str) -> None:
    added = json_file(text).with_entry("servers", "pgrecall", ENTRY)
    assert added.document()["servers"] == {"pgrecall": ENTRY}
    assert ("/*x*/" in added.text, "// mine" in added.text) == ("/*x*/" in text, "// mine" in text)
    kept = {name: value for name, value in json_file(text).document().items() if name != "servers"}
    assert added.with_entry("servers", "pgrecall", None).document() == kept


@pytest.mark.parametrize("text", ['{"a":1,"servers":{"x":{"command":"c"}}}', '{"a": [1, 2]}\n'])
def test_a_file_of_one_line_stays_one(text: str) -> None:
    added = json_file(text).with_entry("servers", "pgrecall", ENTRY)
    assert added.text.count("\n") == text.count("\n")
    assert added.with_entry("servers", "pgrecall", None).text == text


def test_comments_in_a_list_that_is_replaced_are_not_lost() -> None:
    text = '{"hooks": {"Stop": [\n  // mine\n  {"command": "x"}\n]}}'
    file = json_file(text)
    with pytest.raises(InvalidInput, match="has comments inside hooks"):
        file.with_document({"hooks": {"Stop": []}})
    assert "// mine" in file.with_document({"hooks": {"Stop": [{"command": "x"}], "Start": [1]}}).text


@given(VALUES, VALUES)
def test_any_object_becomes_any_other(one: object, other: object) -> None:
    text = json.dumps({"a": one, "b": 1}, indent=2)
    assert json_file(text).with_document({"a": other, "c": one}).document() == {"a": other, "c": one}


def test_a_read_only_file_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    path.chmod(0o444)
    with pytest.raises(InvalidInput, match="is read-only"):
        SettingsFile.read(path).require_writable()


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.symlink_to(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        SettingsFile.read(path)


def test_toml_keeps_comments_and_other_tables() -> None:
    text = '# mine\nmodel = "x"  # keep\n\n[mcp_servers.other]\ncommand = "o"\n'
    added = toml_file(text).with_entry("mcp_servers", "pgrecall", ENTRY)
    assert added.text.startswith(text)
    assert tomllib.loads(added.text)["mcp_servers"]["pgrecall"] == ENTRY
    changed = added.with_entry("mcp_servers", "pgrecall", {"command": "p", "args": []})
    assert tomllib.loads(changed.text)["mcp_servers"]["pgrecall"] == {"command": "p", "args": []}
    assert changed.with_entry("mcp_servers", "pgrecall", None).text == text


def test_toml_before_and_after_the_entry_stays() -> None:
    text = "[mcp_servers.pgrecall]\ncommand = 'p'\n[mcp_servers.pgrecall.env]\nA = 'b'\n[history]\nmax = 1\n"
    assert toml_file(text).with_entry("mcp_servers", "pgrecall", None).text == "[history]\nmax = 1\n"


@pytest.mark.parametrize(
    ("file", "part"),
    [
        (json_file('{"a": 1 "b": 2}'), "is not JSON"),
        (json_file('{"a": 1 /* no end'), "is not JSON"),
        (json_file("{,}"), "is not JSON"),
        (json_file('{"a": 01}'), "is not JSON"),
        (json_file('{"a": '), "is not JSON"),
        (json_file("[1]"), "is not a JSON object"),
        (json_file('{"mcp_servers": []}'), "mcp_servers in settings.json is not an object"),
        (json_file("[" * 100_000), "is not JSON"),
        (toml_file("a = "), "is not TOML"),
        (toml_file("mcp_servers = {pgrecall = {command = 'x'}}"), "cannot be changed safely"),
        (toml_file('text = """\n[mcp_servers.pgrecall]\n"""\n'), "cannot be changed safely"),
    ],
)
def test_a_file_that_cannot_be_changed_is_refused(file: SettingsFile, part: str) -> None:
    with pytest.raises(InvalidInput, match=part):
        file.with_entry("mcp_servers", "pgrecall", ENTRY)


def test_writing_keeps_a_copy_and_the_mode_and_follows_links(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "settings.json"
    real.write_text("{}")
    real.chmod(0o640)
    link.symlink_to(real)
    said = SettingsFile.read(link).with_entry("servers", "pgrecall", ENTRY).write(tmp_path)
    assert said == f"Changed {real}; the copy from before is real.json.before-pgrecall."
    assert (tmp_path / "real.json.before-pgrecall").read_text() == "{}"
    assert link.is_symlink()
    assert json.loads(real.read_text()) == {"servers": {"pgrecall": ENTRY}}
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_new_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "mcp.json"
    said = SettingsFile.read(path).with_entry("servers", "pgrecall", ENTRY).write(tmp_path)
    assert said == f"Changed {path}."
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_has_just_changed_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    changed = SettingsFile.read(path).with_entry("servers", "pgrecall", ENTRY)
    path.write_text('{"a": 1}')
    with pytest.raises(InvalidInput, match="has just been changed by another program"):
        changed.write(tmp_path)
    assert path.read_text() == '{"a": 1}'


@pytest.mark.parametrize("content", [b"\xff\xfe{", None])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "mcp.json"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(InvalidInput, match="cannot be read"):
        SettingsFile.read(path)


@pytest.mark.parametrize("editor", HOOKS)
@settings(max_examples=20 * SCALE)  # of each of five editors
@given(st.data())
def test_hooks_are_added_once_and_removed_again(editor: HookedEditor, data: st.DataObject) -> None:
    form = HOOKS[editor]
    events = st.sampled_from([form.start, form.prompt, form.end, "beforeTool"])
    others = data.draw(st.dictionaries(events, st.lists(VALUES, min_size=1)))
    before: dict[str, Any] = {"model": "x"} | ({"hooks": others} if others else {})
    if form.version is not None:
        before["version"] = form.version
    added = with_hooks(editor, before, COMMAND)
    for event, command in (
        (form.end, f"'/my opt/pgrecall' --tenant 'a b' capture end --editor {editor}"),
        (form.prompt, f"'/my opt/pgrecall-recall' --tenant 'a b' --editor {editor}"),
    ):
        last = added["hooks"][event][-1]
        assert (last["hooks"][0] if form.grouped else last) == {"type": "command", "command": command}
    assert with_hooks(editor, added, COMMAND) == added
    other = with_hooks(editor, added, HookCommands(("/new/pgrecall",)))
    assert other["hooks"][form.prompt] == added["hooks"][form.prompt]  # what is not given stays
    assert with_hooks(editor, other, NO_HOOKS) == before


@pytest.mark.parametrize("editor", HOOKS)
def test_a_new_file_of_hooks_is_empty_once_they_are_removed(editor: HookedEditor) -> None:
    assert with_hooks(editor, with_hooks(editor, {}, COMMAND), NO_HOOKS) == {}


def test_a_hook_in_a_group_with_others_goes_alone() -> None:
    def mixed(*commands: str) -> dict[str, Any]:
        hooks = [{"type": "command", "command": one} for one in commands]
        return {"hooks": {"UserPromptSubmit": [{"matcher": "", "hooks": hooks}]}}

    both = mixed("notify me", "/old/pgrecall-recall --editor claude")
    assert with_hooks("claude", both, NO_HOOKS) == mixed("notify me")
    again = with_hooks("claude", both, COMMAND)
    assert json.dumps(again).count("pgrecall-recall") == 1
    assert with_hooks("claude", again, NO_HOOKS) == mixed("notify me")


@pytest.mark.parametrize("hooks", [[], {"Stop": {}}, "x", {"Stop": None}])
def test_hooks_of_another_form_are_refused(hooks: Any) -> None:
    with pytest.raises(InvalidInput, match="not an object of lists"):
        with_hooks("claude", {"hooks": hooks}, COMMAND)


@pytest.mark.parametrize("editor", HOOKS)
def test_an_answer_has_the_form_of_its_editor(editor: HookedEditor) -> None:
    for text in ("", "one\ntwo"):
        assert context_in(added_context(editor, HOOKS[editor].start, text)) == text


def context_in(answer: str) -> str:
    """The context in an answer of either form."""
    found = json.loads(answer)
    text = found.get("additional_context", found.get("hookSpecificOutput", {}).get("additionalContext"))
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("name", EDITORS)
def test_every_editor_has_a_file_and_an_entry(name: Any) -> None:
    editor = EDITORS[name]
    assert editor.file(Path("/home/me"), None).is_relative_to("/home/me")
    entry = server_entry(editor, "/p", ("--tenant", "t"), {})
    assert (entry["command"], entry["args"], "env" in entry) == (
        "/p",
        ["--tenant", "t", "mcp", "--tools", "core"],
        False,
    )


def test_claude_desktop_has_no_project_settings() -> None:
    with pytest.raises(InvalidInput, match="no settings for a project"):
        EDITORS["claude-desktop"].file(Path("/home/me"), Path("/project"))


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_and_a_device_are_not_read_and_not_replaced(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    make: dict[str, Callable[[], None]] = {
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to(os.devnull),
    }
    make[kind]()
    with pytest.raises(InvalidInput, match=r"settings\.json is not a file\."):
        SettingsFile.read(path)
