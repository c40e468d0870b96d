"""Our plugin for OpenClaw, by the interface that OpenClaw publishes: hooks and tools, without the program.

OpenClaw 2026.9.6 itself ran the plugin by hand, with a model double: `openclaw agent --local`, two sessions.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.acceptance.agents.conftest import SECRET
from tests.acceptance.deploy.compose_tools import ROOT
from tests.acceptance.http.http_tools import member
from tests.acceptance.typescript.node_tools import CLIENT, install, node
from tests.databases import Query

PLUGIN = ROOT / "clients" / "openclaw"


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The folder of the plugin, with the client of TypeScript where npm puts it."""
    install()
    folder = shutil.copytree(PLUGIN, tmp_path / "pgrecall")
    package = folder / "node_modules" / "pgrecall"
    package.mkdir(parents=True)
    shutil.copy(CLIENT / "package.json", package)
    into = ("--project", "tsconfig.build.json", "--outDir", str(package / "dist"))
    node("node_modules/typescript/bin/tsc", *into)
    shutil.copy(Path(__file__).with_name("turns_in_openclaw.mjs"), folder)
    return folder


def test_two_conversations(plugin: Path, keyed: dict[str, str], database_url: str, query: Query) -> None:
    said = json.loads(node("turns_in_openclaw.mjs", SECRET, folder=plugin, **keyed).stdout)
    assert json.loads((PLUGIN / "openclaw.plugin.json").read_text())["contracts"]["tools"] == said["tools"]
    assert said["statement"] == said["same"] == ""
    assert "The ferry to Odda leaves at half past nine." in said["recalled"]
    assert said["best"] == "The gate code is 4711."
    assert said["used"] == {"recorded": 1}
    assert "999999" in said["wrong"]["error"]
    assert "The gate code is 4711." not in str(said["again"])
    assert said["long"] == 4000
    logged = " ".join(one["query"] for one in query("SELECT query FROM recall.search_log"))
    assert "a a a" in logged
    assert SECRET[:8] not in logged  # no part of it either
    with member(database_url) as memory:
        bodies = [one.body for one in memory.list(include_archived=True)]
    assert bodies.count("When does the ferry to Odda leave?") == 2
    for text in (SECRET, "cancelled", "not said", "Notes from earlier"):
        assert not any(text in body for body in bodies), text
