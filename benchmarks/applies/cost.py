"""What finding out what memories say, and what of them applies, adds to a search and to storing.

    python -m benchmarks.applies.cost [--memories 5000] [--questions 200] [--rounds 20] [--json]

Server processor time, as Linux counts it for the backend, in pairs in turn. A search: the same question as
shipped, and with the settings search.directives, search.newer_gap and search.answer_share at 0, in a tenant
of conversations (see `benchmarks.profile`) of which a tenth are directives and a tenth questions. Questions
ask what was said, want something done, or are words alone. Storing: the turns of the chats in examples/, with
a vector each, as they are and with what they say already given, so that nothing is to be found out. What
cannot be turned off is only seen against an older version: `benchmarks.profile` in a worktree of it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import psycopg
from rich.console import Console
from rich.table import Table

from benchmarks.examples.judged import CORPORA, read_memories
from benchmarks.intervals import bootstrap_interval
from benchmarks.profile.__main__ import filled, server
from benchmarks.profile.conversations import DIMENSIONS, MODEL, NOW, TENANT, Question
from benchmarks.profile.counters import Connect, processor_ms
from pgrecall.nouns.memories.models import Draft
from pgrecall.nouns.search.models import SearchRequest
from pgrecall.nouns.search.operations import search_and_log

FORMS = {
    "what was said": "What did Nadia say about {}?",
    "a request": "Can you suggest me something about {}?",
    "words alone": "{}",
}
PARTS = {
    "directives": ("search.directives",),
    "newer statements": ("search.newer_gap",),
    "answers": ("search.answer_share",),
}
ALL = "all three"
OFF = {**PARTS, ALL: tuple(setting for settings in PARTS.values() for setting in settings)}
"""What is turned off, by the settings that do it."""
MOST_MS = 0.5
"""Milliseconds of server processor time that a search may cost more."""
MOST_SHARE = 0.03
"""Of what storing costs without it."""
WARM_UP = 12

_MARK = """
UPDATE recall.memory SET role = 'user', act_marked = true, speech_act = CASE id %% 20
    WHEN 3 THEN 'instruction' WHEN 13 THEN 'preference' WHEN 6 THEN 'question' WHEN 16 THEN 'question'
    ELSE 'statement' END
WHERE tenant = %s AND speech_act IS NULL
"""


def searches(
    connection: Connect, asked: Sequence[Question]
) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """By form of question and part: the milliseconds as shipped and without the part, of each question."""
    connection.execute("SELECT set_config('recall.tenant', %s, false)", (TENANT,))
    connection.execute("SET synchronous_commit = off")  # as the client sets it for a search
    if connection.execute(_MARK, (TENANT,)).rowcount:
        connection.execute("VACUUM (FULL, ANALYZE) recall.memory")  # as if they had been stored so
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    ways: list[str | None] = [None, *OFF]
    for place, question in enumerate([*asked[:WARM_UP], *asked]):
        words = question.text.removeprefix("What did Nadia say about ").removesuffix("?")
        for form, text in FORMS.items():
            again = Question(text.format(words), question.embedded)
            spent = {}
            for way in ways[place % len(ways) :] + ways[: place % len(ways)]:
                turn_off(connection, OFF[way] if way else ())
                spent[way] = _spent(connection, partial(_ask, connection, again))
            if place >= WARM_UP:
                for part in OFF:
                    found.setdefault((form, part), []).append((spent[None], spent[part]))
    turn_off(connection, ())
    return found


def turn_off(connection: Connect, settings: Sequence[str]) -> None:
    """Sets these settings to 0, the others to their defaults: as many rows to read, whatever is off."""
    connection.execute(
        "SELECT recall.set_setting(s.name, CASE WHEN s.name = ANY (%s) THEN 0 ELSE s.default_value END) "
        "FROM recall.settings() s WHERE s.name = ANY (%s)",
        (list(settings), list(OFF[ALL])),
    )


def _ask(connection: Connect, question: Question) -> object:
    made = search_and_log(SearchRequest(question.text, now=NOW), [question.embedded])
    return connection.execute(made.sql, {**made.parameters, "tenant": TENANT}, prepare=True).fetchall()


def _spent(connection: Connect, act: Callable[[], object]) -> float:
    before = processor_ms(connection.info.backend_pid)
    act()
    return processor_ms(connection.info.backend_pid) - before


def stored(connection: Connect, rounds: int) -> list[tuple[float, float]]:
    """The milliseconds a turn as it is and with its speech act given, by round; each in a new tenant."""
    turns = list(_turns())
    known = [{**turn, "speech_act": act} for turn, act in zip(turns, _acts(connection, turns), strict=True)]
    found, tenants = [], count()
    for place in range(-2, rounds):
        spent = {}
        for given in (True, False) if place % 2 else (False, True):
            connection.execute("SELECT set_config('recall.tenant', %s, false)", (f"stored {next(tenants)}",))
            batch = json.dumps(known if given else turns)
            spent[given] = _spent(connection, partial(_store, connection, batch)) / len(turns)
        if place >= 0:
            found.append((spent[False], spent[True]))
    return found


def _turns() -> Iterator[dict[str, Any]]:
    dice = np.random.default_rng(3)
    for corpus in CORPORA.values():
        if corpus.name.startswith(("applies-", "assistant-")):
            for draft in read_memories(corpus):
                if isinstance(draft, Draft):
                    vector = dice.standard_normal(DIMENSIONS)
                    yield {
                        "body": draft.body,
                        "role": draft.role,
                        "author": draft.author,
                        "session_id": draft.session_id,
                        "embedding": (vector / np.linalg.norm(vector)).round(5).tolist(),
                    }


def _acts(connection: Connect, turns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for turn in turns:
        row = connection.execute(
            "SELECT recall_private.found_speech_act('', %s, %s)", (turn["body"], turn["role"])
        ).fetchone()
        assert row is not None
        yield row[0]


def _store(connection: Connect, batch: str) -> None:
    connection.execute(
        "SELECT count(*) FROM recall.remember_many(%s::jsonb, %s, p_now => %s)", (batch, MODEL, NOW)
    )


def document(
    searched: Mapping[tuple[str, str], Sequence[tuple[float, float]]], batches: Sequence[tuple[float, float]]
) -> dict[str, Any]:
    """The medians, and the interval of the difference by pair; of storing also the share."""
    figures: dict[str, dict[str, Any]] = {}
    for (form, part), pairs in searched.items():
        one = _compared(pairs)
        figures.setdefault(form, {})[part] = {**one, "ok": one["more"] <= MOST_MS}
    storing = _compared(batches)
    share = storing["more"] / storing["without"]
    return {"search": figures, "storing": {**storing, "share": share, "ok": share <= MOST_SHARE}}


def _compared(pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    differences = sorted(with_ - without for with_, without in pairs)
    kept = differences[len(differences) // 20 : len(differences) - len(differences) // 20]
    return {
        "with": median(with_ for with_, _ in pairs),
        "without": median(without for _, without in pairs),
        "more": fmean(kept),
        "95%": list(bootstrap_interval(kept)),
        "pairs": len(pairs),
    }


def table(figures: Mapping[str, Any], title: str) -> Table:
    shown = Table("", "with", "without", "more, 95 %", "goal", "", title=title)
    for form, parts in figures["search"].items():
        for part, one in parts.items():
            goal, met = (f"<= {MOST_MS:g} ms", "ok" if one["ok"] else "miss") if part == ALL else ("", "")
            shown.add_row(f"{form}: {part}", *_cells(one), goal, met)
        shown.add_section()
    one = figures["storing"]
    goal = f"<= {MOST_SHARE:.0%}, is {one['share']:.1%}"
    shown.add_row("storing a turn", *_cells(one), goal, "ok" if one["ok"] else "miss")
    return shown


def _cells(one: Mapping[str, Any]) -> tuple[str, str, str]:
    low, high = one["95%"]
    return (
        f"{one['with']:.3f} ms",
        f"{one['without']:.3f} ms",
        f"{one['more']:+.3f} ms ({low:+.3f} to {high:+.3f})",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=5_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=20, help="times that all turns are stored each way")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "pgrecall-applies")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    chosen = parser.parse_args(arguments)
    if chosen.memories < 1_000 or chosen.questions < 20 or chosen.rounds < 2:
        parser.error("at least 1,000 memories, 20 questions and 2 rounds")
    with server(chosen.cache / "server") as running:
        url, asked = filled(running, chosen.memories, chosen.cache)
        with psycopg.connect(url, autocommit=True) as connection:
            figures = document(
                searches(connection, asked[: chosen.questions]), stored(connection, chosen.rounds)
            )
    if chosen.json:
        print(json.dumps({"memories": chosen.memories, **figures}, indent=2))
    else:
        Console(width=140).print(table(figures, f"{chosen.memories:,} memories"))


if __name__ == "__main__":
    main()
