"""What was judged of the candidates of questions, as labelled and weighted examples; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pgrecall.errors import InvalidInput
from pgrecall.models.calibration import JudgedQuery, Judgement
from pgrecall.models.search import Hit
from pgrecall.search.calibration.fitting import Examples, require_enough, weights_of

Row = Sequence[float]


@dataclass(slots=True)
class JudgedCandidates:
    """Collects the candidates of judged questions, question by question."""

    missed: int = 0
    _rows: list[tuple[Row, bool, float, int]] = field(default_factory=list)
    _groups: dict[tuple[str, ...], int] = field(default_factory=dict)

    def add(self, judged: JudgedQuery, candidates: Sequence[tuple[Hit, Row]]) -> None:
        """The candidates search found for a question, each with its row of the design."""
        # A question that comes twice is one question: else it would be held out from itself.
        asked = (judged.question.query, *(judged.question.queries or ()))
        group = self._groups.setdefault(tuple(text.strip().casefold() for text in asked), len(self._groups))
        verdicts = _Verdicts(judged)
        for hit, row in candidates:
            verdict = verdicts.of(hit)
            if verdict is not None:
                self._rows.append((row, verdict.relevant, verdict.propensity, group))
        self.missed += verdicts.missed

    def examples(self) -> Examples:
        """All of them as arrays.

        Raises:
            InvalidInput: they are too few, or all of one kind.
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


class _Verdicts:
    """What was judged of a question's memories; the key of a note also names its sections."""

    def __init__(self, judged: JudgedQuery) -> None:
        self._known = {entry.memory: entry for entry in judged.judgements}
        self._complete = judged.complete
        self._found: set[int | str] = set()

    def of(self, hit: Hit) -> Judgement | None:
        """The verdict on a hit, or None where nothing is known of it."""
        key = hit.key or ""
        for name in (hit.id, key, key.partition("#")[0]):
            if verdict := self._known.get(name):
                self._found.add(name)
                return verdict
        return Judgement(hit.id, relevant=False) if self._complete else None

    @property
    def missed(self) -> int:
        """How many memories judged relevant no hit was."""
        return sum(entry.relevant and name not in self._found for name, entry in self._known.items())
