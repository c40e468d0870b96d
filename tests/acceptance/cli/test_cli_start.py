"""What a command imports before it answers: most of the time of a short one."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from pgrecall import Memory
from pgrecall.settings import Settings

RUN = """
import json, sys
from pgrecall.faces.cli.main import main
try:
    main()
except SystemExit as ended:
    print(json.dumps({"code": ended.code, "modules": sorted(sys.modules)}), file=sys.stderr)
"""

NEEDLESS = {
    "alembic",
    "apscheduler",
    "filelock",
    "http.client",
    "httpx",
    "jinja2",
    "mcp",
    "networkx",
    "numpy",
    "onnxruntime",
    "pydantic",
    "pydantic_core",
    "sentence_transformers",
    "sqlalchemy",
    "tenacity",
    "torch",
    "typer",
    "uvicorn",
    "yaml",
    "pgrecall.arguments",
    "pgrecall.client._async.memory",
    "pgrecall.database.async_pool",
    "pgrecall.embedded",
    "pgrecall.nouns.layers.operations",
    "pgrecall.nouns.memories._sync_drafts",
    "pgrecall.nouns.export.file",
    "pgrecall.jobs.catalogue",
    "pgrecall.nouns.charts.models",
    "pgrecall.nouns.plans.prune",
    "pgrecall.search.context.selection",
    "pgrecall.search.rerank.local",
    "pgrecall.search.rerank.onnx",
}


def test_a_search_imports_what_it_needs(database_url: str, memory: Memory, settings: Settings) -> None:
    memory.remember("the harbour opens in May")
    shown, imported = answered(database_url, settings, "search", "harbour")
    assert "harbour" in shown
    assert NEEDLESS & imported == set()


def test_a_use_is_recorded_without_importers(database_url: str, memory: Memory, settings: Settings) -> None:
    memory.remember("the harbour opens in May", key="harbour")
    shown, imported = answered(database_url, settings, "access", "harbour")
    assert shown.startswith("Recorded.")
    assert {"pydantic", "yaml", "pgrecall.importers.jsonl"} & imported == set()


def test_the_mcp_server_greets_before_it_imports_much() -> None:
    """An editor waits for it. A client, the SDK and asyncio take their time afterwards."""
    started = "pgrecall.faces.cli.main, pgrecall.faces.cli.commands.mcp, pgrecall.faces.mcp.handshake"
    shown = subprocess.run(
        [sys.executable, "-c", f"import sys, {started}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = set(shown.stdout.split())
    assert "pgrecall.faces.mcp.handshake" in imported
    needless = NEEDLESS | {"asyncio", "psycopg", "pgrecall.faces.mcp.server", "pgrecall.search.explanation"}
    needless |= {"rich", "pgrecall.nouns.search.models", "pgrecall.importers.dates"}
    assert needless & imported == set()


def answered(database_url: str, settings: Settings, *command: str) -> tuple[str, set[str]]:
    """What a command printed, and every module that was there in the end."""
    asked = os.environ | {
        "PGRECALL_DATABASE_URL": database_url,
        "PGRECALL_TENANT": settings.tenant,
        "PGRECALL_EMBEDDER": "hash",
        "PGRECALL_EMBEDDER_DIMENSIONS": str(settings.embedder_dimensions),
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, *command],
        env=asked,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stderr.splitlines()[-1])
    assert not told["code"]
    return done.stdout, set(told["modules"])
