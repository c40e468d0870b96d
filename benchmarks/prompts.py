"""What recall adds to prompts about things that nobody remembers, and to those that have an answer.

    python -m benchmarks.prompts [PATH...] [--prompts N] [--timed N]

A PATH is a file in LoCoMo's format (see `benchmarks.locomo`); without one, the judged examples of this
project are read, to which the ranking was fitted. Each conversation is a tenant. It gets its own questions as
prompts, and as many questions of other tenants, each in a session of its own. --prompts takes only N of each
kind from all tenants together. Questions about its own people that nothing answers are a row of their own.

Then the hook itself is run as an editor runs it, --timed times, with its process warm: seconds from start to
end, and processor time of the hook and of the process behind it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.applies.corpora import Tenant, collection_of, judged_collections
from benchmarks.harness import fresh_database
from benchmarks.locomo.data import Question
from pgrecall import Memory
from pgrecall.faces.editors.recall import Recall
from pgrecall.search.embed.factory import make_embedder
from pgrecall.settings import load_settings

OWN, OTHERS, NEAR = "with an answer", "about other people's memories", "about own people, without an answer"
HOOK = Path(sys.executable).with_name("pgrecall-recall")


def prompts(tenants: Sequence[Tenant], most: int) -> Iterator[tuple[Tenant, str, Question]]:
    """Each prompt with its tenant and its kind, at most so many of a kind; the same at each call."""
    chance = random.Random(0)
    answered = [(one, question) for one in tenants for question in one.questions if question.evidence]
    absent = [(one, question) for one in tenants for question in one.questions if not question.evidence]
    chance.shuffle(answered)
    chance.shuffle(absent)
    for tenant, question in answered[:most]:
        yield tenant, OWN, question
        yield chance.choice([one for one in tenants if one is not tenant]), OTHERS, question
    for tenant, question in absent[:most]:
        yield tenant, NEAR, question


def ask(
    memory: Memory, tenant: Tenant, kind: str, question: Question, counts: Counter[tuple[str, str]]
) -> None:
    """Counts what a prompt gets."""
    recalled = Recall(memory, "claude", "all").answer(
        {"prompt": question.text, "session_id": question.text[:80]}
    )
    counts[kind, "prompts"] += 1
    counts[kind, "additions"] += bool(recalled.hits)
    counts[kind, "right"] += any(tenant.key_of(hit.key or "") in question.evidence for hit in recalled.hits)


def timed(url: str, tenant: str, texts: Sequence[str]) -> tuple[list[float], float, float]:
    """Seconds of each hook, and processor seconds of a hook and of the process behind it, for each prompt."""
    with TemporaryDirectory(prefix="recall-") as runtime:
        variables = {
            **os.environ,
            "PGRECALL_DATABASE_URL": url,
            "PGRECALL_TENANT": tenant,
            "XDG_RUNTIME_DIR": runtime,
        }

        def hook(text: str) -> float:
            event = json.dumps({"prompt": text, "session_id": text[:80]})
            began = time.perf_counter()
            subprocess.run(
                [HOOK, "--editor", "claude"],
                input=event,
                text=True,
                env=variables,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            return time.perf_counter() - began

        for text in texts[:5]:  # the first starts the process
            hook(text)
            time.sleep(1)
        behind = int(subprocess.check_output(["pgrep", "--newest", "--full", f"socket {runtime}"]))
        before, children = _seconds_of(behind), _seconds_of_children()
        took = [hook(text) for text in texts]
        own, process = _seconds_of_children() - children, _seconds_of(behind) - before
        os.kill(behind, 15)
    return took, own / len(texts), process / len(texts)


def _seconds_of(process: int) -> float:
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _seconds_of_children() -> float:
    used = os.times()
    return used.children_user + used.children_system


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH")
    parser.add_argument("--prompts", type=int, default=200, metavar="N")
    parser.add_argument("--timed", type=int, default=100, metavar="N")
    chosen = parser.parse_args()
    collections = [collection_of(path) for path in chosen.paths] or list(judged_collections())
    tenants = [tenant for collection in collections for tenant in collection.tenants]
    settings = load_settings()
    embedder = make_embedder(settings)
    counts: Counter[tuple[str, str]] = Counter()
    with fresh_database(settings, 384 if embedder is None else embedder.dimensions) as url:
        asked = list(prompts(tenants, chosen.prompts))
        for tenant in tenants:
            with Memory(url, tenant=tenant.name, settings=settings, embedder=embedder) as memory:
                tenant.fill(memory)
                for other, kind, question in asked:
                    if other is tenant:
                        ask(memory, tenant, kind, question, counts)
        texts = [question.text for tenant, kind, question in asked if kind == OWN and tenant is tenants[0]]
        took, own, process = timed(url, tenants[0].name, (texts * chosen.timed)[: chosen.timed])
    table = Table("prompts", "number", "with an addition", "with what answers them")
    for kind in (OWN, OTHERS, NEAR):
        number = counts[kind, "prompts"]
        shares = [f"{counts[kind, what] / max(number, 1):.1%}" for what in ("additions", "right")]
        table.add_row(kind, f"{number:,}", *shares)
    Console().print(table)
    p50, p95 = median(took) * 1e3, quantiles(took, n=20)[-1] * 1e3
    print(f"A warm hook: p50 {p50:.0f} ms, p95 {p95:.0f} ms.")
    print(f"Processor time: {own * 1e3:.0f} ms, and {process * 1e3:.0f} ms of the process behind it.")


if __name__ == "__main__":
    main()
