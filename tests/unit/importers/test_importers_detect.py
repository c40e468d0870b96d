"""The right importer for each path, the names of sources, and what can be counted beforehand."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pgrecall.errors import InvalidInput
from pgrecall.importers.detect import count_items, known_kind, open_source, source_name
from pgrecall.nouns.memories.models import Draft

CHAT = '[{"role": "user", "content": "hi"}]'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("text")
    (tmp_path / "notes" / "b.markdown").write_text("text")
    (tmp_path / "m.jsonl").write_text('{"body": "x"}\n\n{"body": "y"}\n')
    (tmp_path / "m.JSON").write_text(CHAT)
    (tmp_path / "m.json.gz").write_bytes(gzip.compress(CHAT.encode()))
    (tmp_path / "m.txt").write_text('{"body": "x"}')
    return tmp_path


@pytest.mark.parametrize(
    ("name", "kind", "layer", "drafts", "items"),
    [
        ("notes", "markdown", "knowledge", 2, 2),
        ("notes/a.md", "markdown", "knowledge", 1, 1),
        ("m.jsonl", "jsonl", "knowledge", 2, 2),
        ("m.JSON", "chat", "episodic", 1, None),
        ("m.json.gz", "chat", "episodic", 1, None),
    ],
)
def test_the_kind_is_detected_from_the_path(
    folder: Path, name: str, kind: str, layer: str, drafts: int, items: int | None
) -> None:
    path = folder / name
    assert known_kind(path) == kind
    assert source_name(path) == f"{kind}:{path.resolve()}"
    assert count_items(path) == items
    found = [item for item in open_source(path) if isinstance(item, Draft)]
    assert len(found) == drafts
    assert {item.source for item in found} == {source_name(path)}
    assert {item.layer for item in found} == {layer}


def test_arguments_reach_the_importer(folder: Path) -> None:
    (found,) = open_source(folder / "notes" / "a.md", source="mine", prefix="p/", layer="entity")
    assert isinstance(found, Draft)
    assert (found.key, found.source, found.layer) == ("p/a", "mine", "entity")
    (line,) = open_source(folder / "m.txt", kind="jsonl", source="mine")
    assert isinstance(line, Draft)


def test_an_unknown_source_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="has an unknown format") as refused:
        open_source(folder / "m.txt")
    assert "claude-code, codex, cursor, gemini, vscode, mem0" in refused.value.hint
    with pytest.raises(InvalidInput, match="There is no file"):
        open_source(folder / "none")
    with pytest.raises(InvalidInput, match="There is no file"):
        open_source(folder / "none.md", kind="markdown")
    with pytest.raises(InvalidInput, match="is not a Markdown file"):
        open_source(folder / "m.txt", kind="markdown")
    (folder / "uses.jsonl").write_text('{"key": "a", "kind": "used", "at": "2026-01-01"}')
    with pytest.raises(InvalidInput, match="has neither records nor chats") as refused:
        open_source(folder / "uses.jsonl")
    assert "`pgrecall access --from FILE`" in refused.value.hint
    (folder / "empty").mkdir()
    with pytest.raises(InvalidInput, match="contains no conversations"):
        open_source(folder / "empty", kind="chat")
    with pytest.raises(InvalidInput, match="set the layer in each record"):
        open_source(folder / "m.jsonl", layer="entity")
    with pytest.raises(InvalidInput, match="There is no folder"):
        count_items(folder / "none", "markdown")
