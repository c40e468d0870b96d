"""A day at work in an editor: three sessions in two projects, with what each prompt and each start is told.

    python -m benchmarks.day [--scope prefer|project|all] [--json]

The script of the day is `day.json`, with planted secrets. Its key says of each prompt which words an
addition must have to be useful; an addition to any other prompt is not. Everything runs as the hooks do: the
commits of both repositories and two notes are stored, a session is told what its start says, each prompt gets
what recall adds, and a session is imported when it ends.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, get_args

from rich.console import Console
from rich.table import Table

from benchmarks.harness import fresh_database
from pgrecall import Memory
from pgrecall.faces.editors.recall import Recall
from pgrecall.faces.editors.session_start import start_answer
from pgrecall.importers.chat.reader import read_chats
from pgrecall.importers.git import SOURCE, read_commits
from pgrecall.importers.projects import Scope, project_of, with_projects
from pgrecall.nouns.memories.models import PROJECT
from pgrecall.search.context.rendering import estimate_tokens
from pgrecall.search.embed.embedder import Embedder
from pgrecall.search.embed.factory import make_embedder
from pgrecall.settings import load_settings

DAY = Path(__file__).with_name("day.json")
BEGIN = datetime(2026, 5, 4, 8, tzinfo=UTC)


def run(url: str, embedder: Embedder | None, folder: Path, scope: Scope = "prefer") -> dict[str, int]:
    """The figures of the day, counted in prompts, additions, tokens and secrets.

    Args:
        url: an empty database.
        folder: an empty folder, for the repositories and transcripts.
    """
    day = json.loads(DAY.read_text())
    secrets: Mapping[str, str] = day["secrets"]
    figures: Counter[str] = Counter()
    with Memory(url, embedder=embedder) as memory:
        folders = {name: _repository(folder / name, remote, day["commits"][name], secrets)
                   for name, remote in day["projects"].items()}  # fmt: skip
        for note in day["notes"]:
            memory.remember(note)
        for where in folders.values():
            memory.import_drafts(read_commits(where), source=SOURCE, by_session=True)
        for number, session in enumerate(day["sessions"]):
            began = BEGIN + timedelta(hours=3 * number)
            _session(
                memory,
                folders[session["project"]],
                f"s{number}",
                session["turns"],
                secrets,
                scope,
                began,
                figures,
            )
        figures["secrets stored"] = _stored(memory, list(secrets.values()))
        figures["memories"] = memory.status().memories
    return dict(figures)


def _repository(folder: Path, remote: str, commits: Sequence[str], secrets: Mapping[str, str]) -> Path:
    folder.mkdir()
    identity = ("-c", "user.name=Mira", "-c", "user.email=mira@example.org")
    calls = [("init", "--quiet"), ("remote", "add", "origin", _filled(remote, secrets))]
    dated = (
        "commit",
        "--quiet",
        "--allow-empty",
        f"--date={BEGIN - timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}",
        "-m",
    )
    calls += [(*dated, message) for message in commits]
    for call in calls:
        subprocess.run(["git", "-C", str(folder), *identity, *call], check=True)
    return folder


def _session(
    memory: Memory,
    folder: Path,
    name: str,
    turns: Sequence[Mapping[str, Any]],
    secrets: Mapping[str, str],
    scope: Scope,
    began: datetime,
    figures: Counter[str],
) -> None:
    """Runs a session, and adds to the figures."""
    transcript, recall = folder / f"{name}.jsonl", Recall(memory, "claude", scope)
    event = {"session_id": name, "cwd": str(folder), "transcript_path": str(transcript)}
    figures["tokens at starts"] += _tokens(
        start_answer("claude", {**event, "source": "startup"}, memory, scope)
    )
    shown: Counter[int] = Counter()
    with transcript.open("w") as file:
        for place, turn in enumerate(turns):
            role = "user" if "user" in turn else "assistant"
            text = _filled(turn[role], secrets)
            if role == "user":
                recalled = recall.answer({**event, "prompt": text})
                recall.has_shown(recalled)
                shown.update(hit.id for hit in recalled.hits)
                _count(recalled.output, turn["wants"], secrets, figures)
                _count_others(memory, [hit.id for hit in recalled.hits], folder, figures)
            at = began + timedelta(minutes=place)
            line = {
                "type": role, "uuid": f"{name}-{place}", "sessionId": name, "cwd": str(folder),
                "timestamp": at.isoformat(), "message": {"role": role, "content": text},
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")
            file.flush()
    figures["repeats"] += sum(count - 1 for count in shown.values())
    drafts = with_projects(read_chats(transcript, "claude-code", source="claude-code"))
    memory.import_drafts(drafts, source="claude-code", by_session=True)


def _count(output: str, wants: Sequence[str], secrets: Mapping[str, str], figures: Counter[str]) -> None:
    figures["prompts"] += 1
    figures["prompts with an answer"] += bool(wants)
    if not output:
        return
    useful = any(json.dumps(want)[1:-1] in output for want in wants)
    figures["additions"] += 1
    figures["useful additions"] += useful
    figures["additions to a prompt without an answer"] += not wants
    figures["tokens at prompts"] += _tokens(output)
    figures["secrets added"] += any(secret in output for secret in secrets.values())


def _count_others(memory: Memory, ids: Sequence[int], folder: Path, figures: Counter[str]) -> None:
    own = project_of(folder)
    figures["memories of another project added"] += sum(
        memory.get(id_).metadata.get(PROJECT, own) != own for id_ in ids
    )


def _tokens(output: str) -> int:
    return estimate_tokens(json.loads(output)["hookSpecificOutput"]["additionalContext"]) if output else 0


def _stored(memory: Memory, secrets: Sequence[str]) -> int:
    """How many of the secrets an export of everything holds."""
    with TemporaryFile("w+b") as file:
        memory.export.write(file)
        file.seek(0)
        text = file.read().decode()
    return sum(secret in text for secret in secrets)


def _filled(text: str, secrets: Mapping[str, str]) -> str:
    for name, secret in secrets.items():
        text = text.replace(f"{{{name}}}", secret)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.day")
    parser.add_argument("--scope", choices=get_args(Scope), default="prefer")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    settings = load_settings()
    embedder = make_embedder(settings)
    dimensions = 384 if embedder is None else embedder.dimensions
    with fresh_database(settings, dimensions) as url, TemporaryDirectory() as folder:
        figures = run(url, embedder, Path(folder), chosen.scope)
    if chosen.json:
        print(json.dumps(figures))
        return
    table = Table("measure", "count")
    for name, count in figures.items():
        table.add_row(name, f"{count:,}")
    Console().print(table)


if __name__ == "__main__":
    main()
