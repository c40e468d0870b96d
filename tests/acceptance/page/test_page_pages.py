"""Plans of more than one page, and the links that a chart leaves out: nothing is unreachable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from pgrecall import Draft, Memory
from pgrecall.faces.page.views.dedupe_plan import MAX_TICKED, PAGE_SIZE
from pgrecall.faces.page.views.memory import SHOWN_LINKS
from tests.acceptance.http.http_tools import Served, member, serving
from tests.acceptance.page.page_tools import Page, complaints

CLUSTERS = MAX_TICKED + 1
CANDIDATES = 2 * PAGE_SIZE + 1
CONTRADICTIONS = SHOWN_LINKS + 2
OLD = datetime.now(UTC) - timedelta(days=900)


@pytest.fixture(scope="module")
def memory(url: str) -> Iterator[Memory]:
    with member(url) as client:
        fill(client)
        yield client


@pytest.fixture(scope="module")
def served(url: str, memory: Memory) -> Iterator[Served]:
    with serving(url) as running:
        yield running


def fill(memory: Memory) -> None:
    """Pairs of the same text, old memories, a memory with many contradictions, and a plan of each kind."""
    memory.remember_many(
        [
            Draft(f"Boat {number:03} lies at the old pier of Alden", key=f"boat/{number}/{copy}")
            for number in range(CLUSTERS)
            for copy in ("a", "b")
        ]
    )
    memory.remember_many(
        [
            Draft(f"An old buoy number {number}.", layer="activity", key=f"buoy/{number}", occurred_at=OLD)
            for number in range(CANDIDATES)
        ],
        now=OLD,
    )
    memory.remember_many(
        [Draft(f"Claim {number}", key=f"claim/{number}") for number in range(CONTRADICTIONS)]
    )
    memory.link("boat/0/a", "boat/1/a", "supports")
    memory.link("boat/2/a", "boat/0/a", "contradicts")
    for number in range(1, CONTRADICTIONS):
        memory.link("claim/0", f"claim/{number}", "contradicts")
    memory.plans.dedupe(max_count=1000)
    memory.plans.prune(max_share=1.0, grace_days=0, layers=["activity"])


def walked(served: Served, path: str) -> list[Page]:
    """All pages from the first by their links to the next, each without complaints; and back to the first."""
    found = [Page(served.client.get(path))]
    while nexts := found[-1].all("a", rel="next"):
        address = nexts[0].attributes["href"] or ""
        found.append(Page(served.client.get(address.partition("#")[0])))
        [back] = found[-1].all("a", rel="prev")
        earlier = Page(served.client.get((back.attributes["href"] or "").partition("#")[0]))
        assert earlier.said == found[-2].said
    assert [complaint for page in found for complaint in complaints(page)] == []
    return found


def test_every_cluster_of_a_long_plan_is_on_one_of_its_pages(served: Served) -> None:
    pages = walked(served, "/plans/1")
    clusters = [[int(n) for n in re.findall(r"Cluster (\d+)\s*Keeps", page.said)] for page in pages]
    assert [len(numbers) for numbers in clusters] == [PAGE_SIZE, PAGE_SIZE, 1]
    assert sorted(number for numbers in clusters for number in numbers) == list(range(1, CLUSTERS + 1))
    assert f"51 to 100 of {CLUSTERS}" in pages[1].said
    assert f"Merge all {CLUSTERS} clusters" in pages[2].said
    assert Page(served.client.get("/plans/1", params={"after": "1000"})).status == 200


def test_every_candidate_of_a_long_prune_plan_is_on_one_of_its_pages(served: Served, memory: Memory) -> None:
    plan = memory.plans.get(2, limit=1000)
    assert plan.kind == "prune"
    planned = {item.title or item.key for item in plan.items}
    assert len(planned) == CANDIDATES
    memory.plans.apply(2)
    pages = walked(served, "/plans/2")
    assert len(pages) == 3
    said = " ".join(page.said for page in pages)
    assert [name for name in planned if name not in said] == []


def test_links_that_the_chart_leaves_out_are_listed(served: Served) -> None:
    page = Page(served.client.get("/links/boat/0/a"))
    assert "the other links of this memory are listed below" in page.said
    assert "Other links ← contradicts Boat 002 lies at the old pier of Alden" in page.said
    page = Page(served.client.get("/links/claim/0"))
    assert page.said.count("→ contradicts Claim ") == SHOWN_LINKS
    assert f"{SHOWN_LINKS} of {CONTRADICTIONS - 1} shown." in page.said
    page = Page(served.client.get("/links/boat/1/a"))
    assert "Other links" not in page.said
