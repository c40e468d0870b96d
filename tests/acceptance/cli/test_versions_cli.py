"""Versions and changes on the command line."""

from __future__ import annotations

import pytest

from tests.acceptance.cli.command_tools import Command
from tests.waiting import until


@pytest.fixture
def rewritten(pgrecall: Command) -> Command:
    for text in ("Mira signs on Friday", "Mira signs on Monday"):
        assert pgrecall("remember", text, "--key", "contract").code == 0
    return pgrecall


def test_a_version_is_shown_compared_and_restored(rewritten: Command) -> None:
    listed = rewritten("history", "contract", "--json").json
    assert [(one["number"], one["body"]) for one in listed] == [
        (2, "Mira signs on Monday"), (1, "Mira signs on Friday"),
    ]  # fmt: skip
    assert listed[0]["written_through"] == "cli"
    assert "Mira signs on Friday" in rewritten("history", "contract").out

    shown = rewritten("diff", "contract", "1")
    assert (shown.code, shown.out.strip()) == (0, "body: Mira signs on [-Friday-]{+Monday+}")
    assert rewritten("diff", "contract", "1", "1").code == 1

    restored = rewritten("restore", "contract", "1")
    assert (restored.code, restored.out) == (0, "Restored version 1.\n")
    again = rewritten("restore", "contract", "1")
    assert (again.code, again.err) == (1, "The memory already has this text.\n")
    gone = rewritten("restore", "contract", "9")
    assert (gone.code, gone.err.startswith("Error: Memory 1 has no version 9; the current one is 3.")) == (
        2,
        True,
    )
    assert rewritten("history", "nothing").code == 2


def test_changes_continue(rewritten: Command) -> None:
    # A change is listed once all transactions that began before its end are over: they may come one by one.
    page = until(
        lambda: len(found := rewritten("changes", "--json").json) == 2 and found, "other transactions end"
    )
    assert [(one["kind"], one["key"]) for one in page] == [("new", "contract"), ("rewritten", "contract")]
    rest = rewritten("changes", "--since", page[0]["cursor"])
    assert (rest.code, "rewritten" in rest.out, rest.err) == (
        0, True, f"Continue with --since {page[1]['cursor']}\n",
    )  # fmt: skip
    end = rewritten("changes", "--cursor").out.strip()
    nothing = rewritten("changes", "--since", end)
    assert (nothing.code, nothing.err) == (1, "Nothing changed.\n")
    assert rewritten("changes", "--kind", "archived").code == 1
    wrong = rewritten("changes", "--since", "yesterday")
    assert (wrong.code, wrong.err.startswith("Error: 'yesterday' is not a cursor of changes.")) == (2, True)
