"""Judged candidates as labelled, weighted examples for a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pgrecall.errors import InvalidInput
from pgrecall.nouns.calibration.models import JudgedQuery, Judgement
from pgrecall.nouns.search.models import Hit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Row = Sequence[float]

MIN_QUERIES = 30
MIN_RELEVANT = 30
MAX_WEIGHT = 20.0
"""Maximum weight of a judgement with a low propensity, so that a single one cannot dominate a fit."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Judged candidates, a row each: ``design`` (rows, terms), ``relevant``, ``weight`` > 0, ``query``.

    ``query`` numbers the queries from 0; rows of one query stay together in cross-validation.
    """

    design: Floats
    relevant: Bools
    weight: Floats
    query: Ints

    def __len__(self) -> int:
        return len(self.relevant)

    def of(self, rows: Ints | Bools) -> Examples:
        """The examples of these rows."""
        return Examples(self.design[rows], self.relevant[rows], self.weight[rows], self.query[rows])


@dataclass(slots=True)
class JudgedCandidates:
    """Collects the candidates of judged queries, one query after another."""

    missed: int = 0
    _rows: list[tuple[Row, bool, float, int]] = field(default_factory=list)
    _groups: dict[tuple[str, ...], int] = field(default_factory=dict)

    def add(self, judged: JudgedQuery, candidates: Sequence[tuple[Hit, Row]]) -> None:
        """Adds the candidates of a query, each with its row of the design."""
        # A repeated query stays in one group, or it would be in training and test sets.
        asked = (judged.question.query, *(judged.question.queries or ()))
        group = self._groups.setdefault(tuple(text.strip().casefold() for text in asked), len(self._groups))
        verdicts = _Verdicts(judged)
        for hit, row in candidates:
            verdict = verdicts.of(hit)
            if verdict is not None:
                self._rows.append((row, verdict.relevant, verdict.propensity, group))
        self.missed += verdicts.missed

    def examples(self) -> Examples:
        """Returns all candidates as arrays.

        Raises:
            InvalidInput: there are too few, or all are relevant, or none is.
        """
        if not self._rows:
            raise InvalidInput(
                "Search finds none of the judged memories.",
                hint="Check that the keys are those of this tenant's memories, and the filters.",
            )
        design, relevant, propensities, query = zip(*self._rows, strict=True)
        examples = Examples(np.array(design), np.array(relevant), weights_of(propensities), np.array(query))
        require_enough(examples, self.missed)
        return examples


def require_enough(examples: Examples, missed: int) -> None:
    """Rejects examples that are too few for a fit.

    Raises:
        InvalidInput: fewer than 30 queries or 30 relevant candidates, or candidates of one kind only.
    """
    queries, relevant = len(np.unique(examples.query)), int(examples.relevant.sum())
    lost = f" ({missed} more are judged relevant, and search did not find them)" if missed else ""
    found = f"{queries} judged queries have candidates, {relevant} of them relevant{lost}"
    if queries < MIN_QUERIES or relevant < MIN_RELEVANT:
        raise InvalidInput(
            f"Too little to calibrate with: {found}.",
            hint=f"Give at least {MIN_QUERIES} queries with {MIN_RELEVANT} relevant candidates.",
        )
    if relevant == len(examples):
        raise InvalidInput(
            f"Nothing to tell apart: {found}, and no candidate is judged as not answering.",
            hint="Judge some that do not answer too.",
        )


def weights_of(propensities: Sequence[float]) -> Floats:
    """The weight of each judgement: the inverse of its propensity, capped (inverse propensity scoring)."""
    return np.minimum(1.0 / np.asarray(propensities, dtype=np.float64), MAX_WEIGHT)


class _Verdicts:
    """The judgements of one query; the key of a note also stands for its sections."""

    def __init__(self, judged: JudgedQuery) -> None:
        self._known = {entry.memory: entry for entry in judged.judgements}
        self._complete = judged.complete
        self._found: set[int | str] = set()

    def of(self, hit: Hit) -> Judgement | None:
        """The verdict on a hit, or None if there is none."""
        key = hit.key or ""
        for name in (hit.id, key, key.partition("#")[0]):
            if verdict := self._known.get(name):
                self._found.add(name)
                return verdict
        return Judgement(hit.id, relevant=False) if self._complete else None

    @property
    def missed(self) -> int:
        """How many memories judged relevant are not among the hits."""
        return sum(entry.relevant and name not in self._found for name, entry in self._known.items())
