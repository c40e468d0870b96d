"""Search compared with LlamaIndex, LangChain and mem0, all on one Postgres.

    python -m benchmarks.peers --install
    python -m benchmarks.peers [--memories 50000] [--conversations LOCOMO.json] [--calls 200] [--json]

The first command installs each package in an environment of its own in the folder --peers; the table names
those that are missing. Each runs in its own process and database, configured as its documentation recommends
(the table says how), with the same texts and precomputed vectors. They take turns question by question, so
that other load on the machine affects all. With LoCoMo's public JSON (may be gzipped) its turns are among the
memories and its questions are asked too; otherwise no relevance is known.

Times are those of a search for 10 memories without the embedding of the question. CPU is the mean for a
search, of the caller's process and the backends of its database. Loading includes indexes and autovacuum;
then the databases are vacuumed, analyzed and kept in the folder --cache. Later runs search copies of them,
read into memory first. hnsw.ef_search is 100 for all.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console

from benchmarks.harness import surroundings
from benchmarks.peers.contest import Contender, contest
from benchmarks.peers.data import Given, prepare
from benchmarks.peers.process import Store
from benchmarks.peers.table import show
from benchmarks.speed.server import bench_server
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.search.embed.factory import make_embedder
from pgrecall.settings import Settings

PACKAGES = {
    "LlamaIndex": ("llama-index-vector-stores-postgres",),
    "LangChain": ("langchain-postgres",),
    "mem0": ("mem0ai", "psycopg[binary,pool]"),
}
"""The packages to install for each peer."""
OURS = ("pgrecall", "pgrecall, transcripts")


def interpreter(peers: Path, name: str) -> Path:
    """The Python executable of a store; it may not exist."""
    return Path(sys.executable) if name in OURS else peers / name.lower() / "bin" / "python"


def install(peers: Path) -> None:
    """Creates an environment for each peer and installs its packages."""
    for name, packages in PACKAGES.items():
        python = interpreter(peers, name)
        if not python.exists():
            venv.create(python.parent.parent, with_pip=True)
        command = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q", *packages]
        subprocess.run(command, check=True)


def run(chosen: argparse.Namespace, screen: Console) -> tuple[list[Contender], dict[str, Any]]:
    """The contenders with their measurements, and the surroundings."""
    embedder = make_embedder(Settings(embedder="local"))
    assert embedder is not None
    with screen.status("Memories, questions and their vectors; the first time this takes minutes"):
        folder = chosen.cache / "peers-given"
        given = prepare(folder, chosen.memories, chosen.conversations, embedder, chosen.cache)
    names = [
        name
        for name in (*OURS, *PACKAGES)
        if (chosen.conversations or name != OURS[1]) and chosen.only in name.lower()
    ]
    with ExitStack() as stack:
        server = stack.enter_context(bench_server(chosen.cache / "server"))
        contenders = []
        for name in names:
            python = interpreter(chosen.peers, name)
            contenders.append(Contender(name))
            if python.exists():
                with screen.status(f"{name}: loading, which is done once"):
                    stack.enter_context(contenders[-1].opened(server.url, Store(name, python), given.folder))
        around = _around(server, chosen, given)
        with screen.status("Searching in turns"):
            contest([one for one in contenders if one.there], given, chosen.calls, chosen.clients)
    return contenders, around


def _around(server: EmbeddedServer, chosen: argparse.Namespace, given: Given) -> dict[str, Any]:
    with psycopg.connect(server.url) as connection:
        sizes = {"memories": given.memories, "calls": chosen.calls, "clients": chosen.clients}
        return sizes | surroundings(connection)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--install", action="store_true", help="install the peers, and nothing else")
    parser.add_argument("--memories", type=int, default=50_000)
    parser.add_argument("--only", default="", type=str.lower, help="those whose name has this in it")
    parser.add_argument("--conversations", type=Path, help="LoCoMo's public JSON")
    parser.add_argument("--calls", type=int, default=200, help="questions that each is timed with, at least")
    parser.add_argument("--clients", type=int, default=8, help="that ask at once")
    cache = Path(tempfile.gettempdir()) / "pgrecall-bench"
    parser.add_argument("--cache", type=Path, default=cache)
    parser.add_argument("--peers", type=Path, help="where the peers are installed; else in the cache")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    chosen = parser.parse_args(arguments)
    chosen.peers = (chosen.peers or chosen.cache / "peers").absolute()
    if min(chosen.memories, chosen.calls, chosen.clients) < 1:
        parser.error("Give at least one of each.")
    if chosen.install:
        install(chosen.peers)
        return
    contenders, around = run(chosen, Console(stderr=True))
    if chosen.json:
        print(json.dumps({**around, "stores": [one.document() for one in contenders]}, indent=2))
    else:
        show(contenders, around)


if __name__ == "__main__":
    main()
