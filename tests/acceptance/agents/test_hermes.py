"""Our memory provider in Hermes Agent, if PGRECALL_TEST_HERMES names a Python that has hermes-agent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.agents.conftest import SECRET
from tests.acceptance.agents.hostile_service import ANSWERS, OTHERS, hostile_service
from tests.acceptance.deploy.compose_tools import ROOT
from tests.acceptance.http.http_tools import member
from tests.databases import Query
from tests.waiting import PATIENCE

HERMES = os.environ.get("PGRECALL_TEST_HERMES", "")


def played(what: str, home: Path, variables: dict[str, str], given: str = SECRET) -> dict[str, Any]:
    """What happened in one of the plays of `turns_in_hermes.py`."""
    if not HERMES:
        pytest.skip("There is no Hermes Agent; PGRECALL_TEST_HERMES can name a Python that has it.")
    shutil.copytree(ROOT / "clients" / "hermes", home / "plugins" / "pgrecall")
    script = Path(__file__).with_name("turns_in_hermes.py")
    done = subprocess.run(
        [HERMES, str(script), what, given],
        env=variables | {"HERMES_HOME": str(home), "PATH": os.environ["PATH"]},
        cwd=home, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_two_conversations(tmp_path: Path, keyed: dict[str, str], database_url: str, query: Query) -> None:
    said = played("conversations", tmp_path, keyed)
    assert said["found"] is True
    logged = query("SELECT query FROM recall.search_log WHERE query LIKE 'a a %%'")
    assert [one["query"].strip("a ") for one in logged] == [""]  # no part of the secret at the end
    assert said["tools"] == ["recall", "recall_remember", "recall_used", "recall_forget"]
    assert said["nothing"] == said["same"] == ""
    assert "The ferry to Odda leaves at half past nine." in said["recalled"]
    assert said["kept"]["outcome"] == "created"
    assert said["best"] == "The gate code is 4711."
    assert said["used"] == {"count": 1}
    assert "memories" in said["wrong"]["error"]
    assert "The gate code is 4711." not in str(said["again"])
    with member(database_url) as memory:
        bodies = [one.body for one in memory.list(include_archived=True)]
        assert not any(SECRET in body for body in bodies)
        assert not any("cancelled" in body for body in bodies)
        assert memory.get("gate").archived_at is not None


def test_a_service_that_refuses_costs_the_memories_alone(tmp_path: Path, keyed: dict[str, str]) -> None:
    said = played("refused", tmp_path, keyed | {"PGRECALL_KEY": "pgr_" + "x" * 40})
    assert said["recalled"] == ""
    assert "key" in said["searched"]["error"]


def test_no_answer_of_something_else_stops_a_turn_or_fills_a_prompt(tmp_path: Path) -> None:
    """Errors are told in a sentence, and a memory is added up to a length, however long it is."""
    with hostile_service() as url:
        said = played("hostile", tmp_path, {"PGRECALL_SERVICE_URL": url}, " ".join([*ANSWERS, *OTHERS]))
    assert set(said) == {*ANSWERS, *OTHERS}
    for answer, told in said.items():
        assert len(told["recalled"]) < 5_000, answer
        assert told["recalled"] == "" or answer in ("long", "numbers", "hits"), told
        [recall, remember, used, forget] = told["tools"]
        assert "type" in forget["error"]  # "none" is no id
        for tool in (recall, remember, used):
            assert answer in (*GOOD, "long") or tool["error"].endswith("."), (answer, tool)
        assert len(str(recall)) < 5_000


GOOD = ("empty", "numbers", "hits")
"""Answers that an agent may see as they are."""
