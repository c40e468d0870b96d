"""The last turns of a session that is still being written."""

from __future__ import annotations

import json
from pathlib import Path

from pgrecall.importers.chat.recalled import marked
from pgrecall.importers.chat.transcript_end import last_turns


def line(number: int, text: str) -> str:
    message = {"role": "user", "content": text}
    return json.dumps({"type": "user", "uuid": f"u{number}", "sessionId": "s", "message": message}) + "\n"


def test_turns_are_without_what_recall_added_and_half_a_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    added = marked("The ferry berths at the north quay.")
    path.write_text(line(1, f"Where is it?\n{added}") + line(2, added) + line(3, "Thanks") + '{"type": "us')
    assert [turn.text for turn in last_turns(path, "claude-code")] == ["Where is it?", "Thanks"]


def test_only_the_end_of_a_long_transcript_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("".join(line(number, f"turn {number} " + "x" * 1000) for number in range(1000)))
    numbers = [int(turn.text.split()[1]) for turn in last_turns(path, "claude-code")]
    assert 200 < len(numbers) < 260
    assert numbers == list(range(1000 - len(numbers), 1000))
