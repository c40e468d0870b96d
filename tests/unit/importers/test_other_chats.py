"""Exports that no importer reads: one sentence, and the form in which they can be imported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pgrecall.errors import InvalidInput
from pgrecall.importers.detect import known_kind, open_source
from pgrecall.nouns.memories.models import Draft
from tests.unit.importers.chat_forms import write_json, write_zip

SLACK = [{"type": "message", "user": "U1", "text": "Noon?", "ts": "1772530440.000100"}]
DISCORD = {
    "guild": {"id": "1", "name": "Clocks"},
    "channel": {"id": "2", "type": "GuildTextChat", "name": "tower"},
    "messages": [{"id": "3", "type": "Default", "content": "Noon?", "author": {"id": "4", "name": "ann"}}],
}
TELEGRAM = {
    "name": "Ann", "type": "personal_chat", "id": 1,
    "messages": [{"id": 2, "type": "message", "date": "2026-05-08T11:30:00", "from": "Ann", "text": "Noon?"}],
}  # fmt: skip
WHATSAPP = "08/05/26, 11:30 - Ann: Noon?\n"


def whatsapp(folder: Path) -> Path:
    path = folder / "_chat.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text(WHATSAPP, encoding="utf-8")
    return path


EXPORTS: dict[str, Callable[[Path], Path]] = {
    "Slack": lambda folder: write_zip(
        folder / "slack.zip", {"users.json": [], "tower/2026-05-08.json": SLACK}
    ),
    "Slack, unpacked": lambda folder: write_json(folder / "s" / "tower" / "day.json", SLACK).parents[1],
    "Slack, a day": lambda folder: write_json(folder / "2026-05-08.json", SLACK),
    "Discord": lambda folder: write_json(folder / "tower.json", DISCORD),
    "Discord, a folder": lambda folder: write_json(folder / "d" / "tower.json", DISCORD).parent,
    "Telegram": lambda folder: write_json(folder / "result.json", TELEGRAM),
    "Telegram, all": lambda folder: write_json(folder / "result.json", {"chats": {"list": [TELEGRAM]}}),
    "WhatsApp": whatsapp,
    "WhatsApp, unpacked": lambda folder: whatsapp(folder / "w").parent,
}


@pytest.mark.parametrize("name", EXPORTS)
def test_another_program_s_export_is_refused_with_the_way_out(tmp_path: Path, name: str) -> None:
    path = EXPORTS[name](tmp_path)
    with pytest.raises(InvalidInput) as refused:
        list(open_source(path))
    assert path.name in str(refused.value)
    assert "Chats of other programs are imported as records in a .jsonl file" in refused.value.hint


def test_the_form_in_the_hint_is_imported(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        known_kind(whatsapp(tmp_path))
    line = refused.value.hint.partition("one a line: ")[2].removesuffix(".")
    assert json.loads(line)
    path = tmp_path / "team.jsonl"
    path.write_text(f"{line}\n", encoding="utf-8")
    (draft,) = (item for item in open_source(path) if isinstance(item, Draft))
    assert (draft.body, draft.author, draft.session_id) == ("See you at noon", "Ann", "team")
    assert draft.occurred_at is not None


def test_folders_that_can_become_notes_are_none_of_these(tmp_path: Path) -> None:
    (tmp_path / "tower.png").write_bytes(b"x")
    write_json(tmp_path / ".obsidian" / "app.json", {})
    assert known_kind(tmp_path) == "markdown"
    write_json(tmp_path / "data.json", {})
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "a.md").write_text("A note.", encoding="utf-8")
    assert known_kind(tmp_path) == "markdown"
