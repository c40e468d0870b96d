"""The commands of quality: what they print, and their exit codes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.acceptance.cli.command_tools import Command
from tests.conftest import Memory


def test_the_report(pgrecall: Command, memory: Memory) -> None:
    empty = pgrecall("quality", "report", tenant="acme")
    assert (empty.code, empty.out, empty.err) == (1, "", "No search is logged.\n")
    one = memory.remember("The harbour contract is signed on Friday.").id
    result = memory.search("when is the harbour contract signed?")
    assert result.search_id is not None
    memory.used(result.search_id, one)
    refused = memory.search("harbour gauge")
    assert refused.search_id is not None
    memory.rejected(refused.search_id, one)
    done = pgrecall("quality", "report", tenant="acme")
    assert (done.code, done.err) == (0, "")
    first = "2 searches: 0 showed nothing, and for 2 it is known whether a hit was used.\n"
    assert done.out.startswith(first)
    assert "Too little to conclude from" in done.out
    assert "50 % [9 %, 91 %]" in done.out
    assert "harbour gauge" in done.out
    document = pgrecall("quality", "report", "--json", tenant="acme").json
    assert document["ranks"][0]["share"]["count"] == 1
    assert document["unanswered"][0]["query"] == "harbour gauge"
    before = pgrecall("quality", "report", "--since", "2100-01-01", tenant="acme")
    assert (before.code, before.err) == (1, "No search of this time is logged.\n")
    wrong = pgrecall("quality", "report", "--since", "soon", tenant="acme")
    assert wrong.code == 2
    assert wrong.err.startswith("Error: --since: 'soon' is not a date")
    assert "as 7d for seven days ago" in wrong.err


def test_a_miss(pgrecall: Command, memory: Memory) -> None:
    memory.remember("The harbour contract is signed on Friday.", key="contract")
    memory.remember("The harbour gauge is read at dawn.", key="gauge")
    found = pgrecall("quality", "miss", "when is the harbour contract signed?", "contract", tenant="acme")
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("It is found at rank 1; the search shows 10.\n")
    lower = pgrecall("quality", "miss", "harbour contract signed", "gauge", "-k", "1", tenant="acme")
    assert lower.code == 1
    assert "ranks 2, but the search shows 1" in lower.out
    assert "lacks “contract”, “sign”" in " ".join(lower.out.split())
    filtered = pgrecall("quality", "miss", "harbour", "gauge", "--tag", "x", "--json", tenant="acme")
    assert (filtered.code, filtered.json["outcome"], filtered.json["filters"]) == (1, "filtered", ["tags"])
    nobody = pgrecall("quality", "miss", "harbour", "nothing", tenant="acme")
    assert (nobody.code, nobody.out) == (2, "")
    assert "no memory with key 'nothing'" in nobody.err


def test_a_replay(pgrecall: Command, memory: Memory) -> None:
    empty = pgrecall("quality", "replay", "--vitality-mode", "off", tenant="acme")
    assert (empty.code, empty.err) == (1, "No search is logged.\n")
    one = memory.remember("The harbour contract is signed on Friday.").id
    result = memory.search("when is the harbour contract signed?")
    assert result.search_id is not None
    memory.used(result.search_id, one)
    done = pgrecall("quality", "replay", "--weight", "lexical=0.5", "--since", "1d", tenant="acme")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(
        "1 search repeated: 1 would show the same hits in the same order, 1 the same first hit."
    )
    assert "Too little to conclude from: 1 of these searches" in done.out
    heavy = pgrecall("quality", "replay", "--vitality-weight", "2", "--json", tenant="acme")
    assert heavy.json["searches"] == 1
    nothing = pgrecall("quality", "replay", tenant="acme")
    assert nothing.code == 2
    assert nothing.err.startswith("Error: No setting is changed, so no result would change.")
    assert pgrecall("quality", "replay", "--weight", "taste=1", tenant="acme").code == 2


def test_an_experiment_from_its_setting_to_its_report(pgrecall_process: Command, tmp_path: Path) -> None:
    """As an operator runs it, each step a process; the report survives an export into another tenant."""
    run = partial(pgrecall_process, tenant="acme")
    none = run("quality", "experiment")
    assert (none.code, none.out.startswith("There is no experiment.")) == (1, True)
    assert run("remember", "The harbour contract is signed on Friday.", "--key", "contract").code == 0
    assert run("settings", "set", "search.experiment", "1").code == 0
    assert run("settings", "set", "search.experiment_weight", "2").code == 0
    for session in range(3):
        found = run("search", "harbour contract", "--session", f"s{session}", "--json").json
        if not session:
            assert run("feedback", "used", str(found["search_id"]), "contract").code == 0
    report = run("quality", "experiment", "--json")
    assert (report.code, report.json["number"], report.json["running"]) == (1, 1, True)
    assert sum(arm["sessions"] for arm in report.json["arms"]) == 3
    assert sum(arm["used"] for arm in report.json["arms"]) == 1
    words = run("quality", "experiment")
    assert words.out.startswith("Experiment 1 is running.\nToo little to conclude from: each arm needs 476")
    assert run("quality", "experiment", "--difference", "0.9").code == 2

    file = str(tmp_path / "all.jsonl")
    assert run("export", file).code == 0
    other = partial(pgrecall_process, tenant="other")
    assert other("import", file).code == 0
    assert other("quality", "experiment", "--json").json == report.json
    assert run("settings", "set", "search.experiment", "0").code == 0
    ended = run("quality", "experiment")
    assert ended.out.startswith("Experiment 1 has ended.\n")
