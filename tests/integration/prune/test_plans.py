"""What plans of both kinds share: their list, their removal, and exports from before they had one table."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import pytest

from pgrecall import InvalidInput, Memory
from pgrecall.nouns.plans.dedupe import DedupePlan
from pgrecall.nouns.plans.prune import PrunePlan
from tests.databases import Query
from tests.integration.dedupe.dedupe_tools import CONTRACT, problems, store
from tests.integration.prune.prune_tools import NOW

LATER = NOW + timedelta(days=1)


@pytest.fixture
def plans(memory: Memory) -> tuple[PrunePlan, DedupePlan]:
    """A prune plan, and a dedupe plan with one cluster."""
    for body in ("The winch is oiled.", "The ferry is painted green."):
        store(memory, body, NOW - timedelta(days=4000))
    for body in (CONTRACT + " soon", CONTRACT):
        store(memory, body, NOW - timedelta(days=1))
    return memory.plans.prune(max_share=1.0, now=NOW), memory.plans.dedupe(now=NOW)


def test_one_list_has_both_kinds(memory: Memory, plans: tuple[PrunePlan, DedupePlan]) -> None:
    prune, dedupe = plans
    listed = memory.plans.list()
    assert [(plan.id, plan.kind) for plan in listed] == [(dedupe.id, "dedupe"), (prune.id, "prune")]
    assert [plan.planned for plan in listed] == [dedupe.report.planned, prune.report.planned]
    assert [plan.clusters for plan in listed] == [1, None]
    assert [plan.kept_back for plan in listed] == [None, prune.report.staying]
    assert memory.plans.list(kind="prune") == listed[1:]
    assert (memory.plans.get(prune.id), memory.plans.get(dedupe.id)) == plans
    with pytest.raises(InvalidInput, match="There is no kind of plan 'merge'"):
        memory.plans.list(kind="merge")  # type: ignore[arg-type]


def test_only_a_plan_that_was_never_applied_is_dropped(
    memory: Memory, plans: tuple[PrunePlan, DedupePlan]
) -> None:
    prune, dedupe = (plan.id for plan in plans)
    assert memory.plans.drop(prune)
    assert [plan.id for plan in memory.plans.list()] == [dedupe]
    memory.plans.apply(dedupe, now=NOW)
    for _ in range(2):
        with pytest.raises(InvalidInput, match=f"Dedupe plan {dedupe} was applied, so it cannot be dropped"):
            memory.plans.drop(dedupe)
        if memory.plans.list()[0].state == "applied":
            memory.plans.undo(dedupe, now=LATER)


def earlier(line: str, kinds: dict[int, str]) -> str:
    """A line as an export had it when each kind of plan had its own tables and ids."""
    [(kind, row)] = json.loads(line).items() if '"pgrecall"' not in line else [("", {})]
    if kind not in ("plan", "plan_item", "archival"):
        return line
    if kind == "archival":
        if row["reason"] == "merged":
            row["plan_id"] = 1
        return json.dumps({kind: row})
    which = kinds[row["id" if kind == "plan" else "plan_id"]]
    if which == "dedupe":
        row["id" if kind == "plan" else "plan_id"] = 1
    if kind == "plan":
        del row["kind"]
    elif which == "prune":
        row["impact"]["content_hash"] = row["content_hash"]
        names = "plan_id memory_id place vitality terms reason impact outcome note"
        row = {name: row[name] for name in names.split()}
    else:
        row["cluster"] = row.pop("place")
        del row["terms"], row["impact"]
    return json.dumps({f"{which}_{kind.removeprefix('plan_')}": row})


def test_an_export_of_an_earlier_version_is_imported(
    memory: Memory, query: Query, plans: tuple[PrunePlan, DedupePlan]
) -> None:
    """Both of its plans had the id 1."""
    prune, dedupe = (plan.id for plan in plans)
    memory.plans.apply(prune, now=NOW)
    memory.plans.apply(dedupe, now=NOW)
    file = io.BytesIO()
    memory.export.write(file, embeddings=False)
    header, *lines = file.getvalue().decode().splitlines()
    first: dict[str, Any] = json.loads(header)
    items = len(plans[0].items)
    counts = {"prune_plan": 1, "prune_item": items, "dedupe_plan": 1, "dedupe_item": 2}
    assert first["counts"].pop("plan") == 2
    assert first["counts"].pop("plan_item") == items + 2
    first["counts"] |= counts
    old = "\n".join(
        [json.dumps(first), *(earlier(line, {prune: "prune", dedupe: "dedupe"}) for line in lines)]
    )
    copy = memory.for_tenant("copy")
    copy.export.read(io.BytesIO(old.encode()))
    assert [(plan.id, plan.kind) for plan in copy.plans.list()] == [(prune + 1, "dedupe"), (prune, "prune")]
    for theirs, ours in zip(copy.plans.list(), memory.plans.list(), strict=True):
        assert (theirs.planned, theirs.archived) == (ours.planned, ours.archived)
    assert problems(query, tenant="copy") == problems(query) == []
    assert copy.plans.undo(prune + 1, now=LATER).restored == 1
    assert copy.plans.undo(prune, now=LATER).restored == items
    assert problems(query, tenant="copy") == []
    assert copy.plans.prune(now=LATER).id > prune + 1
