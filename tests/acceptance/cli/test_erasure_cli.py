"""``pgrecall erasure``: a plan that is read, applied and reported, and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.cli.command_tools import Command

pytestmark = pytest.mark.in_turns


@pytest.fixture
def vault(pgrecall: Command, tmp_path: Path) -> Command:
    """Three memories by Ann and one by Bram."""
    lines = [{"key": f"n{n}", "body": f"note {n}", "author": "Ann" if n else "Bram"} for n in range(4)]
    file = tmp_path / "vault.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert pgrecall("import", str(file)).code == 0
    return pgrecall


def test_a_subject_is_planned_erased_and_reported(vault: Command) -> None:
    planned = vault("erasure", "plan", "--author", "ann", "--asked-by", "Ann")
    assert planned.code == 0
    assert "3 memories planned, 3 still there" in planned.out
    assert "n1" in planned.out
    refused = vault("erasure", "apply", "1", "--signed-by", "Bram")
    assert (refused.code, "Nothing was deleted" in refused.err) == (2, True)
    done = vault("erasure", "apply", "1", "--signed-by", "Bram", "--yes")
    assert done.code == 0
    assert "3 memories deleted, signed by Bram" in done.out
    assert "sha256:" in done.out
    assert "backups" in done.out
    assert [one["key"] for one in json.loads(vault("list", "--json").out)] == ["n0"]
    report = json.loads(vault("erasure", "show", "1", "--json").out)
    assert (report["state"], report["intact"], report["report"]["memories"]) == ("done", True, 3)
    listed = vault("erasure", "list")
    assert (listed.code, "done" in listed.out) == (0, True)


def test_a_plan_of_nothing_exits_with_1_and_can_be_dropped(vault: Command) -> None:
    assert vault("erasure", "list").code == 1
    assert vault("erasure", "plan", "--tag", "nothing", "--asked-by", "Ann").code == 1
    [plan] = json.loads(vault("erasure", "list", "--json").out)
    assert vault("erasure", "drop", str(plan["id"])).code == 0
    assert vault("erasure", "list").code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "--asked-by", "Ann"),
        ("plan", "--author", "Ann"),
        ("plan", "--key", "*", "--asked-by", "Ann"),
        ("show", "4711"),
        ("apply", "4711", "--signed-by", "Ann", "--yes"),
        ("drop", "4711"),
    ],
)
def test_bad_input_exits_with_2(vault: Command, arguments: tuple[str, ...]) -> None:
    answer = vault("erasure", *arguments)
    assert answer.code == 2
    assert answer.err
