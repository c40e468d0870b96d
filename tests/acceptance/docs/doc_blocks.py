"""The code blocks of the documentation, and the one list of what in them is not run by reading the pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ENTRY_PAGES = (
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/RESULTS.md",
    "clients/typescript/README.md", "examples/README.md",
)  # fmt: skip
PAGES = sorted([*(ROOT / name for name in ENTRY_PAGES), *(ROOT / "docs").rglob("*.md")])
LANGUAGES = ("console", "ini", "js", "json", "mermaid", "python", "sh", "sql", "text", "ts")

# A program that a page names and we do not start, and why. Every name must occur in some page.
PROGRAMS = {
    ".venv/bin/python": "runs these tests",
    "claude": "somebody else's; test_mcp_docs starts the server as this line tells it to",
    "createdb": "of Postgres; test_howto_commands runs the whole of backup.md",
    "docker": "test_compose runs what the file says; the tests need no Docker",
    "make": "runs these tests",
    "npm": "asks a registry; test_node and test_typescript do what the pages say",
    "python3": "makes an environment; test_wheel makes one",
    "psql": "of Postgres; test_forgotten_files runs what it is told",
    "pip": "asks a registry; test_wheel installs the wheel",
}

# A command of ours that reading the page does not run, by its first words, and why.
COMMANDS = {
    "pgrecall connect": "asks before it changes a file; test_connect",
    "pgrecall erasure apply": "asks before it deletes; test_erasure_cli",
    "pgrecall erasure show": "writes to a file of the shell; test_erasure_cli",
    "pgrecall mcp": "serves until it is stopped; test_mcp_stdio, test_mcp_http",
    "pgrecall models export-onnx": "needs a model; test_reranking_graph",
    "pgrecall serve": "serves until it is stopped; test_docs serves the pages that ask it",
    "pgrecall worker": "works until it is stopped; test_worker",
}

# A block that another test runs, by page and first command or line, and which.
ELSEWHERE = {
    ("import.md", "curl -s 'localhost:8766/v1/imports"): "test_http_imports",
    ("import.md", "pgrecall import git"): "test_import_git, in a repository",
    ("backup.md", "createdb restored"): "test_howto_commands",
    ("measure.md", "pgrecall calibration fit"): "test_calibrate_cli, on questions that can be fitted",
    ("models.md", "export PGRECALL_EMBEDDER=http PGRECALL_EMBEDDER_URL=https"): "test_howto_commands",
    ("mcp.md", "claude mcp add"): "test_mcp_docs",
    ("clients.md", "// memory.mjs"): "test_node",
    ("jobs.md", "CREATE EXTENSION pg_cron"): "wants the extension",
    ("jobs.md", "SELECT cron.schedule("): "test_pg_cron runs what it schedules",
    ("jobs.md", "SELECT cron.unschedule("): "wants the extension",
    ("postgres.md", "export PGRECALL_DATABASE_URL=postgresql://pgrecall_worker"): "tests/pooler",
    ("postgres.md", "[databases]"): "tests/pooler starts one like it",
    (
        "scale.md",
        "export PGRECALL_CELLS=postgresql://postgres@directory",
    ): "tests/integration/cells/test_cells_cli.py",
    ("scale.md", "export PGRECALL_DATABASE_URL"): "tests/integration/replicas",
    ("scale.md", "export PGRECALL_CELLS=postgresql://postgres@router"): "tests/integration/router",
    ("scale.md", "SELECT id, body FROM recall_router"): "tests/integration/router",
    ("scale.md", "pgrecall tenant list"): "tests/integration/cells/test_cells_cli.py",
    ("scale.md", "pgrecall cell drain"): "tests/integration/cells/test_cells_cli.py",
    ("scale.md", "pgrecall upgrade"): "tests/integration/cells/test_cells_cli.py",
    ("clients.md", "import { Memory }"): "test_typescript compiles it",
    ("agent-turn.md", "import { type Draft, Memory }"): "test_agent_turn runs it",
    ("README.md", "import { Memory, MemoryNotFound }"): "test_typescript runs it",
    ("CONTRIBUTING.md", "docker run"): "wants a server that we do not start",
}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; ``line`` is where its fence stands."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """What one types: behind a $ with the lines it goes on in, or in sh every line; without comments."""
        lines = iter(self.text.splitlines())
        typed: list[str] = []
        for line in lines:
            if self.language == "console" and not line.startswith("$ "):
                continue
            command = line.removeprefix("$ ")
            while command.endswith("\\"):
                command = command[:-1] + next(lines)
            typed.append(re.sub(r"\s+# .*$", "", command))
        return typed

    @property
    def elsewhere(self) -> str | None:
        """The test that runs it, where reading the page does not."""
        lines = self.commands if self.language in ("console", "sh") else self.text.splitlines()
        first = next(iter(lines), "")
        found = (test for (page, words), test in ELSEWHERE.items()
                 if page == self.page.name and first.startswith(words))  # fmt: skip
        return next(found, None)


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M):
        yield Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2])


def not_run(command: str) -> str | None:
    """Why reading a page does not run the command; None when it does."""
    named = (why for words, why in COMMANDS.items() if command.startswith(words))
    return PROGRAMS.get(command.split()[0]) or next(named, None)
