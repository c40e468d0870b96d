"""Selection of the tokens of a text, and their signs, which late interaction compares.

The state of a token is its vector in the last layer of a model, computed from the whole text. The signs of
its numbers keep most of the information, in one bit each. Stop words and punctuation are left out by a fixed
list, so that the tokens of a memory do not depend on other memories. In a long text, similar tokens are
merged (token pooling: B. Clavié, A. Chaffin and G. Adams, 2024), by Ward's criterion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pgrecall.nouns.embedding import TokenSigns

    Floats = NDArray[np.float32]

BITS = 512
"""Numbers of a state whose signs are kept; of longer states the first."""

_STOP_PIECES = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being
    below between both but by can could d did do does doing don down during each few for from further
    had has have having he her here hers herself him himself his how i if in into is it its itself just
    ll m ma me more most my myself no nor not now o of off oh on once only or other our ours ourselves
    out over own re really s same shan she should so some such t than that the their theirs them
    themselves then there these they this those through to too under until up ve very was we were what
    when where which while who whom why will with won would wow y yeah you your yours yourself
    yourselves
    """.split()  # noqa: SIM905
)


class KeptPieces:
    """Selects the pieces of a tokenizer that are kept: no special ones, no stop words, no punctuation.

    Args:
        special: numbers of the special pieces.
        text_of: the text of a piece by its number.
    """

    def __init__(self, special: frozenset[int], text_of: Callable[[int], str | None]) -> None:
        self._special = special
        self._text_of = text_of
        self._kept: dict[int, bool] = {}

    def places(self, pieces: Sequence[int]) -> list[int]:
        """The places of the pieces that are kept; those of all but the special ones where nothing is left."""
        for piece in pieces:
            if piece not in self._kept:
                text = self._text_of(piece) or ""
                self._kept[piece] = piece not in self._special and _has_meaning(text)
        kept = [place for place, piece in enumerate(pieces) if self._kept[piece]]
        return kept or [place for place, piece in enumerate(pieces) if piece not in self._special]


def _has_meaning(piece: str) -> bool:
    # Without the marks of WordPiece, SentencePiece and byte-level BPE for where a word begins or goes on.
    text = piece.removeprefix("##").lstrip("\u2581\u0120").casefold()
    return text not in _STOP_PIECES and any(letter.isalnum() for letter in text)


def signs_of(states: Floats, places: Sequence[int], max_signs: int) -> TokenSigns:
    """The signs of the states at these places, merged to at most ``max_signs``.

    Args:
        states: (tokens, dimensions), of any length.
    """
    import numpy as np

    kept = states[list(places)]
    lengths = np.linalg.norm(kept, axis=1, keepdims=True)
    kept = pooled(kept / np.maximum(lengths, 1e-12), max_signs)
    return tuple(row.tobytes() for row in np.packbits(kept[:, :BITS] > 0, axis=1))


def pooled(states: Floats, max_signs: int) -> Floats:
    """Merges states until ``max_signs`` are left, each time the two that lose least."""
    import numpy as np

    count = len(states)
    if count <= max_signs:
        return states
    means, sizes = states.astype(np.float32).copy(), np.ones(count, dtype=np.float32)
    squares = (means**2).sum(axis=1)
    costs = _merging_costs(means, means, squares, squares, sizes, sizes)
    np.fill_diagonal(costs, np.inf)
    for _ in range(count - max_signs):
        one, other = sorted(divmod(int(costs.argmin()), count))
        together = sizes[one] + sizes[other]
        means[one] = (means[one] * sizes[one] + means[other] * sizes[other]) / together
        sizes[one], sizes[other] = together, 0.0
        squares[one] = (means[one] ** 2).sum()
        costs[other, :] = costs[:, other] = np.inf
        fresh = _merging_costs(means[one][None], means, squares[one][None], squares, sizes[one][None], sizes)[
            0
        ]
        fresh[(sizes == 0) | (np.arange(count) == one)] = np.inf
        costs[one, :] = costs[:, one] = fresh
    return means[sizes > 0]


def _merging_costs(
    some: Floats,
    others: Floats,
    some_squares: Floats,
    other_squares: Floats,
    some_sizes: Floats,
    sizes: Floats,
) -> Floats:
    """Computes the cost of merging: a b / (a + b) times the squared distance of the means (J. H. Ward, JASA
    1963)."""
    import numpy as np

    distances = some_squares[:, None] + other_squares[None, :] - 2.0 * some @ others.T
    weights = some_sizes[:, None] * sizes[None, :] / np.maximum(some_sizes[:, None] + sizes[None, :], 1.0)
    return np.asarray(weights * np.maximum(distances, 0.0), dtype=np.float32)
