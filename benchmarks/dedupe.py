"""The cost of finding and planning duplicates, and what is found of the duplicates that were planted.

    python -m benchmarks.dedupe [--memories 100000] [--batch 1000] [--json]

Fills a new database on the embedded server with memories of one tenant: one to three real sentences each,
with vectors mixed of the sentences' vectors. Every tenth is made from an earlier one. Some are duplicates:
the same words in other case, a quarter less, or the same text. Others are near-misses: another number, a
negation, another content word. Figures are processor time of the server process that compares, and its
private memory. --batch is the number of memories of a call, as in the job `dedupe`.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import psycopg
from rich.console import Console

from benchmarks.harness import KNOWN, Goal, Row, show, surroundings
from benchmarks.profile.counters import processor_ms
from benchmarks.speed.bulk_copy import Connect, copy_rows, copy_vectors, indexed_after, vector_rows
from benchmarks.speed.sentences import Vectors, embedded, mixed, sentences
from benchmarks.speed.server import bench_server, new_database
from pgrecall.nouns.plans.operations import BATCH
from pgrecall.search.embed.factory import make_embedder
from pgrecall.settings import Settings

TENANT = "bench"
SENTENCES = 4_000
PLANTED = 0.1
"""The share of memories that are made from an earlier one."""
DUPLICATES = ("same", "case", "shorter")
NEAR_MISSES = ("number", "negation", "word")
CLOSE = 0.05
"""The length of the noise between a planted memory's vector and that of its source: a cosine of .998."""
SECONDS, MEGABYTES = 300, 200
"""What finding the duplicates of 100,000 memories may take."""
_BLOCK = 10_000
_COLUMNS = {
    "tenant": "text", "id": "int8", "layer": "text", "body": "text",
    "created_at": "timestamptz", "updated_at": "timestamptz", "embedded_with": "text",
}  # fmt: skip

_ACTIVATIONS = """
INSERT INTO recall.activation (tenant, memory_id, n, first_at, t1, folded_until, decay, clock)
SELECT m.tenant, m.id, 1, recall_private.epoch(m.created_at), recall_private.epoch(m.created_at),
m.created_at, l.decay,
       l.clock
FROM recall.memory m JOIN recall_private.effective_layers(%s) l ON l.name = m.layer
"""


def written(
    known: Sequence[str], count: int
) -> tuple[list[str], npt.NDArray[np.int64], list[tuple[int, str]]]:
    """The texts of so many memories, the sentences of each (-1 for none), and the source of each planted one
    and how it is made; (-1, "") for the others.
    """
    dice = random.Random(17)
    texts: list[str] = []
    parts = np.full((count, 3), -1, dtype=np.int64)
    made: list[tuple[int, str]] = []
    for place in range(count):
        source = dice.randrange(place) if place and dice.random() < PLANTED else -1
        how = dice.choice(DUPLICATES + NEAR_MISSES) if source >= 0 and made[source][0] < 0 else ""
        if how:
            parts[place] = parts[source]
            texts.append(_changed(texts[source], how, dice))
            made.append((source, how))
            continue
        chosen = dice.sample(range(len(known)), dice.randint(1, 3))
        parts[place, : len(chosen)] = chosen
        # The word keeps texts of the same sentences apart.
        texts.append(f"{' '.join(known[part] for part in chosen)} It is about {_rare(dice)} {_rare(dice)}.")
        made.append((-1, ""))
    return texts, parts, made


def _changed(text: str, how: str, dice: random.Random) -> str:
    body, about = text.rsplit(" It is about ", 1)
    return {
        "same": text,
        "case": text.upper(),
        "shorter": f"{' '.join(body.split()[: len(body.split()) * 3 // 4])}. It is about {about}",
        "number": f"{body} It is about {dice.randrange(2, 1000)} {about}",
        "negation": f"{body} It is not about {about}",
        "word": f"{body} It is about {about.split()[0]} {_rare(dice)}.",
    }[how]


def _rare(dice: random.Random) -> str:
    return "".join(dice.choice("bdfgklmnprstvz") + dice.choice("aeiou") for _ in range(4)) + "x"


def fill(
    url: str, count: int, sentences_: Sequence[str], vectors: Vectors, embedder: str
) -> list[tuple[int, str]]:
    """Stores so many memories of one tenant with their vectors; what each is made from, as in ``written``."""
    texts, parts, made = written(sentences_, count)
    dice = np.random.default_rng(17)
    own = mixed(vectors, parts, dice)
    noise = dice.standard_normal(own.shape, dtype=np.float32)
    noise *= CLOSE / np.linalg.norm(noise, axis=1, keepdims=True)
    for place, (source, _) in enumerate(made):
        if source >= 0:
            own[place] = own[source] + noise[place]
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    now = datetime.now(UTC)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT set_config('recall.tenant', %s, false)", (TENANT,))
        connection.execute("SELECT recall_private.require_embedder(%s)", (embedder,))
        with indexed_after(connection, "recall.memory", "recall.vector_shared"):
            for ids in np.array_split(np.arange(1, count + 1), 1 + count // _BLOCK):
                copy_rows(connection, "recall.memory", _COLUMNS, (
                    (TENANT, int(id_), "knowledge", texts[id_ - 1], now, now, embedder) for id_ in ids
                ))  # fmt: skip
                copy_vectors(connection, vector_rows(TENANT, ids, own[ids - 1]))
            connection.execute("SELECT recall.move_vectors_to_own_table()")
        connection.execute(_ACTIVATIONS, (TENANT,))
        connection.execute("SELECT recall.refresh_lexemes()")
        connection.execute("VACUUM (ANALYZE)")
    return made


@contextmanager
def watched(pid: int) -> Iterator[dict[str, float]]:
    """Processor and clock seconds of a server process, and the most private memory that it had, in MB."""
    over = threading.Event()
    found = {"memory": 0.0}
    process = psutil.Process(pid)

    def look() -> None:
        while not over.wait(0.02):
            memory = process.memory_info()
            found["memory"] = max(found["memory"], (memory.rss - memory.shared) / 1e6)

    watcher = threading.Thread(target=look)
    watcher.start()
    cpu, clock = processor_ms(pid), time.perf_counter()
    try:
        yield found
    finally:
        found["cpu"], found["clock"] = (processor_ms(pid) - cpu) / 1e3, time.perf_counter() - clock
        over.set()
        watcher.join()


def compare(connection: Connect, batch: int) -> int:
    """Compares all memories, a batch in each transaction, as the job does; the number of calls."""
    calls = 0
    while connection.execute("SELECT recall.find_duplicates(%s)", (batch,)).fetchone() != (0,):
        calls += 1
    return calls


def scan(connection: Connect, batch: int, count: int) -> None:
    """Looks up the nearest vectors of all memories and compares nothing: what the index alone takes."""
    for first in range(1, count + 1, batch):
        connection.execute(
            "SELECT count(*) FROM recall_private.near_by_vectors("
            "%s, ARRAY(SELECT generate_series(%s::bigint, %s::bigint)), 8, 0.9)",
            (TENANT, first, min(count, first + batch - 1)),
        )


def planned(connection: Connect, made: Sequence[tuple[int, str]]) -> Counter[str]:
    """How many memories the plan merges, by how they were made: right ones by name, others as `wrong`."""
    found: Counter[str] = Counter()
    rows = connection.execute(
        "SELECT i.memory_id, k.memory_id FROM recall.plan_item i JOIN recall.plan_item k "
        "ON (k.tenant, k.plan_id, k.place) = (i.tenant, i.plan_id, i.place) AND k.keeper "
        "WHERE NOT i.keeper"
    ).fetchall()
    for member, keeper in rows:
        pair = (made[member - 1], made[keeper - 1])
        origins = {
            source if source >= 0 else id_ - 1
            for (source, _), id_ in zip(pair, (member, keeper), strict=True)
        }
        hows = sorted({how for _, how in pair} - {"", *DUPLICATES})
        # Two negations of one text are the same text; a near-miss and its source are not.
        right = len(origins) == 1 and (not hows or pair[0][1] == pair[1][1] == "negation")
        found[" ".join(sorted({how for _, how in pair if how})) if right else "wrong"] += 1
    return found


def run(chosen: argparse.Namespace, screen: Console) -> tuple[list[Row], dict[str, Any], dict[str, Any]]:
    """The rows, the surroundings of the measurement, and how many pairs were planted and planned."""
    embedder = make_embedder(Settings(embedder="local"))
    assert embedder is not None
    known = sentences(SENTENCES, chosen.cache)
    vectors = embedded(known, embedder, chosen.cache)
    with (
        bench_server(chosen.cache / "server") as server,
        new_database(server, embedder.dimensions) as url,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        with screen.status(f"Storing {chosen.memories:,} memories"):
            made = fill(url, chosen.memories, known, vectors, embedder.name)
        around = surroundings(connection, "psycopg")
        connection.execute("SELECT set_config('recall.tenant', %s, false)", (TENANT,))
        pid = connection.info.backend_pid
        with screen.status("Comparing"), watched(pid) as finding:
            compare(connection, chosen.batch)
        with screen.status("Planning"), watched(pid) as planning:
            connection.execute("SELECT recall.plan_dedupe(p_max_count => 1000000)")
        with screen.status("Looking up vectors alone"), watched(pid) as looking:
            scan(connection, chosen.batch, chosen.memories)
        pairs = {
            "planted": dict(Counter(how for _, how in made if how)),
            "planned": dict(planned(connection, made)),
            "stored pairs": dict(
                connection.execute(
                    "SELECT verdict, count(*) FROM recall.duplicate_pair GROUP BY 1"
                ).fetchall()
            ),
        }
    share = chosen.memories / 100_000
    return (
        [
            Row(
                "processor time of comparing",
                f"{SECONDS * share:g} s",
                finding["cpu"],
                SECONDS * share,
                "s",
                Goal(1),
            ),
            Row(
                "the same by the clock",
                f"{SECONDS * share:g} s",
                finding["clock"],
                SECONDS * share,
                "s",
                KNOWN,
            ),
            Row(
                "processor time of comparing",
                "looking up the vectors alone",
                finding["cpu"],
                looking["cpu"],
                "s",
                KNOWN,
            ),
            Row("memory while comparing", f"{MEGABYTES} MB", finding["memory"], MEGABYTES, "MB", Goal(1)),
            Row("processor time of planning", "comparing", planning["cpu"], finding["cpu"], "s", KNOWN),
            Row("memory while planning", f"{MEGABYTES} MB", planning["memory"], MEGABYTES, "MB", Goal(1)),
        ],
        around,
        pairs,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=BATCH, help="memories compared in one call")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "pgrecall-bench")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    chosen = parser.parse_args(arguments)
    if chosen.memories < 5_000 or chosen.batch < 1:
        parser.error("at least 5,000 memories, and 1 in each call")
    rows, around, pairs = run(chosen, Console(stderr=True))
    show(
        rows,
        {"memories": chosen.memories, "batch": chosen.batch},
        {**around, "pairs": pairs},
        as_json=chosen.json,
    )
    if not chosen.json:
        for name, counts in pairs.items():
            print(f"{name}: {', '.join(f'{count:,} {kind}' for kind, count in sorted(counts.items()))}")


if __name__ == "__main__":
    main()
