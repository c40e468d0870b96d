"""The commands that tune: layers, setting, pin, and what status says of health."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pgrecall.faces.cli.commands.layers import duration
from pgrecall.vitality.parameters import PRESETS
from pgrecall.vitality.score import TEN_DAILY, days_in_zones
from tests.acceptance.cli.command_tools import Command
from tests.databases import Query

pytestmark = pytest.mark.in_turns


@pytest.fixture
def stored(pgrecall: Command, tmp_path: Path) -> list[str]:
    """Two notes, by key."""
    for name in ("tides", "moon"):
        (tmp_path / f"{name}.md").write_text(f"About the {name}.\n")
    done = pgrecall("import", str(tmp_path))
    assert (done.code, "2 created" in done.out) == (0, True), done.err
    return ["tides", "moon"]


def layer(pgrecall: Command, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        entry for entry in pgrecall("layers", "list", "--json").json if entry["name"] == name
    )
    return found


# Durations


@pytest.mark.parametrize(
    ("days", "told"),
    [
        (0.0, "never"),
        (0.001, "1.4 min"),
        (1 / 24, "1 h"),
        (0.44444, "10.7 h"),
        (1.0, "1 d"),
        (5.444, "5.4 d"),
        (81.0, "81 d"),
        (99.9, "99.9 d"),
        (217.8, "218 d"),
        (540.0, "1.5 y"),
        (8095.5, "22.2 y"),
        (22884198.0, "62,654 y"),
        (float("inf"), "for ever"),
    ],
)
def test_durations_are_worded_naturally(days: float, told: str) -> None:
    assert duration(days) == told


# Layers


def test_layers_show_rates_and_days_in_each_zone(pgrecall: Command) -> None:
    table = pgrecall("layers", "list")
    assert table.code == 0
    lines = [line.split() for line in table.out.splitlines()]
    assert ["entity", "0.1", "clock", "0.5", "2", "0.6", "0.3", "0.1", "database"] in lines
    assert ["knowledge", "one", "10.7", "h", "5.4", "d", "81", "d"] in lines
    assert ["knowledge", "ten,", "daily", "40.1", "d", "1.5", "y", "22.2", "y"] in lines
    # With its birth weight of two.
    assert ["entity", "one", "17.8", "d", "218", "d", "8.9", "y"] in lines


def test_layers_as_json_hold_the_same_days(pgrecall: Command) -> None:
    assert pgrecall("layers", "preset", "seed").code == 0
    document = {entry["name"]: entry for entry in pgrecall("layers", "list", "--json").json}
    assert set(document) == set(PRESETS["seed"].layers)
    for name, rates in PRESETS["seed"].layers.items():
        days = dataclasses.astuple(days_in_zones(rates, TEN_DAILY))
        expected = [None if value == float("inf") else value for value in days]
        assert list(document[name]["days"]["ten_daily_accesses"].values()) == expected
        assert (document[name]["reading"], document[name]["decay"]) == ("exponent", rates.effective_decay)
    assert document["entity"]["days"]["one_access"]["active"] == 0
    assert document["entity"]["days"]["one_access"]["fading"] is None
    assert "never" in pgrecall("layers", "list").out


def test_a_layer_is_set_used_and_dropped(pgrecall: Command, stored: list[str]) -> None:
    done = pgrecall("layers", "set", "code", "--rate", "4", "--decay", "0.7", "--birth-weight", "2",
                    "--active", "0.5", "--stale", "0.2", "--fading", "0.02")  # fmt: skip
    assert (done.code, done.out) == (0, "Set. 0 memories age differently now.\n")
    own = layer(pgrecall, "code")
    assert (own["metabolic_rate"], own["base_decay"], own["birth_weight"]) == (4, 0.7, 2)
    assert own["zones"] == {"active": 0.5, "stale": 0.2, "fading": 0.02}
    assert own["source"] == "tenant"
    assert pgrecall("layers", "drop", "code").out == "Dropped.\n"
    assert pgrecall("layers", "set", "knowledge", "--reading", "exponent", "--rate", "2").out == (
        "Set. 2 memories age differently now.\n"
    )
    assert pgrecall("layers", "drop", "knowledge").code == 0
    again = pgrecall("layers", "drop", "knowledge")
    assert (again.code, again.out) == (1, "")
    assert again.err == "Layer knowledge belongs to the database; this tenant has no row of its own.\n"


def test_layers_are_one_tenants(pgrecall: Command) -> None:
    pgrecall("layers", "set", "code")
    assert "code" in pgrecall("layers", "list").out
    assert "code" not in pgrecall("layers", "list", tenant="other").out


# Settings


def test_a_setting_is_set_listed_and_reset(pgrecall: Command) -> None:
    name = "prune.grace_days"
    assert pgrecall("settings", "set", name, "12.5").out == f"{name} is now 12.5.\n"
    listed = {entry["name"]: entry for entry in pgrecall("settings", "list", "--json").json}
    assert (listed[name]["value"], listed[name]["source"], listed[name]["default"]) == (12.5, "tenant", 30)
    assert listed["graph.min_cut"]["source"] == "default"
    shown = pgrecall("settings", "list").out.splitlines()
    assert any(line.startswith("vitality.spread_half_life_days ") for line in shown), shown
    [line] = [line for line in shown if line.startswith(name)]
    assert line.split()[1:7] == ["12.5", "30", "0", "to", "36,500", "tenant"]
    assert pgrecall("settings", "reset", name).out == f"{name} is now 30.\n"
    assert pgrecall("settings", "reset", name).code == 0


# Pins


def test_a_pin_is_set_and_taken_away(pgrecall: Command, stored: list[str], query: Query) -> None:
    key = pgrecall("search", "tides", "--json").json["hits"][0]["key"]
    told = [pgrecall("pin", key, *undo).out for undo in ((), (), ("--undo",), ("--undo",))]
    assert told == ["Pinned.\n", "It is already pinned.\n", "Unpinned.\n", "It is not pinned.\n"]
    assert pgrecall("pin", key).code == 0
    assert pgrecall("show", key, "--json").json["pinned"] is True
    assert query("SELECT count(*) FROM recall.memory WHERE pinned", tenant="default") == [{"count": 1}]


# Status


def test_status_shows_alarms_and_jobs(
    pgrecall: Command, stored: list[str], query: Query, now: datetime
) -> None:
    assert "jobs: none has run yet" in pgrecall("status").out
    query(
        "INSERT INTO recall.job_run (tenant, job, state, started_at, finished_at, error) "
        "VALUES ('default', 'graph', 'failed', %(now)s, %(now)s, %(error)s)",
        {"now": now, "error": "out of \x1b[31mluck"},
    )
    told = pgrecall("status").out
    assert "jobs: graph failed\n" in told
    assert "Alarm: The job graph failed at 2026-06-01 12:00 UTC: out of " in told
    assert "\x1b[31m" not in told
    assert "100 % never used, no access yet, 0 accesses waiting to be folded" in told
    state = pgrecall("status", "--json").json
    assert [job["state"] for job in state["jobs"] if job["name"] == "graph"] == ["failed"]
    assert len(state["alarms"]) == 1
    assert (state["never_used"], state["last_access_at"], state["memories"]) == (1, None, 2)
    assert json.dumps(state, allow_nan=False)


def test_a_verification_says_what_it_found(pgrecall: Command, query: Query) -> None:
    query("SELECT recall.remember('the harbour', p_key => 'harbour')", tenant="default")
    assert "problems" in pgrecall("jobs", "run", "verify").out
    query("UPDATE recall.activation SET in_degree = 7", tenant="default")
    told = pgrecall("jobs", "run", "verify").out
    assert "  links: 1 of default (1). In-degrees and newest links agree with the links" in told
    [document] = pgrecall("jobs", "run", "verify", "--json").json
    assert [check["name"] for check in document["findings"]] == ["links"]
