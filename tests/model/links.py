"""The links of the model: made by hand, asked for by drafts, waiting for their target, and grown by use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import networkx as nx

from tests.model.parameters import REFERENCES, SPREADING

Triple = tuple[int, int, str]


@dataclass
class Joined:
    """What is known of a link beside its ends and relation."""

    weight: float
    made: datetime
    drafted: bool = False
    merged_from: int | None = None
    """The memory whose link this is a copy of, for its keeper."""


@dataclass
class Links:
    """The links of one tenant; and those that wait: (source, target as named, relation) to when."""

    made: dict[Triple, Joined] = field(default_factory=dict)
    waiting: dict[tuple[int, str, str], datetime] = field(default_factory=dict)

    def join(self, triple: Triple, weight: float, now: datetime) -> bool:
        """Links by hand; whether the link is new. What a merge had copied is somebody's own from now on."""
        known = self.made.get(triple)
        self.made[triple] = Joined(weight, known.made if known else now)
        return known is None

    def draft(self, source: int, wanted: Mapping[tuple[str, str], int | None], at: datetime) -> None:
        """Makes a memory's drafted links those wanted: (target, relation) to what has that name."""
        resolved = {(source, found, relation) for (_, relation), found in wanted.items() if found is not None}
        for triple, joined in list(self.made.items()):
            if triple[0] == source and joined.drafted and triple not in resolved:
                del self.made[triple]
        for triple in resolved:
            if triple[1] != source and triple not in self.made:
                self.made[triple] = Joined(1.0, at, True)
            elif triple in self.made and self.made[triple].drafted:
                self.made[triple].weight = 1.0
        asked = {(source, target, relation) for (target, relation), found in wanted.items() if found is None}
        for waiting in [key for key in self.waiting if key[0] == source and key not in asked]:
            del self.waiting[waiting]
        for waiting in asked:
            self.waiting.setdefault(waiting, at)

    def answer(self, stored: Collection[int], named: Callable[[str], int | None]) -> None:
        """Makes the links that waited for one of these memories."""
        for (source, target, relation), asked in list(self.waiting.items()):
            found = named(target)
            if found in stored:
                del self.waiting[source, target, relation]
                if source != found:
                    self.made.setdefault((source, found, relation), Joined(1.0, asked, True))

    def forget(self, memory: int) -> None:
        self.made = {
            triple: replace(joined, merged_from=None) if joined.merged_from == memory else joined
            for triple, joined in self.made.items()
            if memory not in triple[:2]
        }
        self.waiting = {key: asked for key, asked in self.waiting.items() if key[0] != memory}

    def of(self, memory: int) -> set[tuple[int, str, bool, float]]:
        """The links made at a memory: other end, relation, whether it goes out, weight."""
        ends = set()
        for (source, target, relation), joined in self.made.items():
            if source == memory:
                ends.add((target, relation, True, joined.weight))
            if target == memory:
                ends.add((source, relation, False, joined.weight))
        return ends

    def citing(self, memory: int, live: Collection[int]) -> dict[int, datetime]:
        """The live memories that refer to this one, and when they last began to."""
        sources: dict[int, datetime] = {}
        for (source, target, relation), joined in self.made.items():
            if target == memory and relation in REFERENCES and source in live:
                sources[source] = max(joined.made, sources.get(source, joined.made))
        return sources

    def neighbours(self, memory: int, live: Collection[int], at: datetime) -> Sequence[tuple[int, float]]:
        """What a use of this memory reaches first: live neighbours either way, the strongest link first."""
        weights: dict[int, float] = {}
        for (source, target, relation), joined in self.made.items():
            if relation in SPREADING and joined.made <= at and memory in (source, target):
                other = target if source == memory else source
                if other in live:
                    weights[other] = max(weights.get(other, 0.0), joined.weight)
        return sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))

    def graph(self, live: Iterable[int]) -> nx.Graph[int]:
        """Live memories and the references between them."""
        graph: nx.Graph[int] = nx.Graph()
        graph.add_nodes_from(live)
        graph.add_edges_from(
            (source, target)
            for source, target, relation in self.made
            if relation in REFERENCES and source in graph and target in graph
        )
        return graph
