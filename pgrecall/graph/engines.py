"""Two engines for the graph algorithms: plain Python on lists, or numba on numpy arrays.

A kernel is a module-level function that loops over integer vectors. It indexes them, never resizes them, and
calls no other kernel. numba is imported when a large graph first needs it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, MutableSequence
from functools import cache
from importlib.util import find_spec
from itertools import compress
from typing import Any, Protocol, TypeVar

from pgrecall.errors import MissingExtra

Ints = MutableSequence[int]
F = TypeVar("F", bound=Callable[..., Any])

NONE = -1
"""No node, where a node number is expected."""

MIN_LINKS_FOR_NUMBA = 20_000
"""With fewer links, plain Python finishes before numba is imported (about half a second)."""

TABLE_FACTOR = 4
"""If the ids span up to this many values for each end of a link, a table numbers them faster than a sort."""


class Engine(Protocol):
    """Makes integer vectors and runs kernels on them."""

    def to_vector(self, values: array[int]) -> Ints: ...
    def full(self, size: int, value: int) -> Ints: ...
    def to_array(self, values: Ints) -> array[int]: ...
    def take(self, values: array[int], places: array[int]) -> array[int]:
        """The value at each index."""
        ...

    def nonzero(self, values: array[int]) -> array[int]:
        """The indices of values other than 0, ascending."""
        ...

    def sort_links(self, ones: array[int], others: array[int]) -> tuple[tuple[int, int], ...]:
        """Pairs of the two arrays' elements, each with the smaller first, ascending."""
        ...

    def number_ids(self, values: array[int]) -> tuple[array[int], Ints]:
        """The distinct values in ascending order, and for each value its index among them."""
        ...

    def kernel(self, function: F) -> F: ...


class PlainEngine:
    """Python alone. Lists, because reading an ``array`` makes a new int each time."""

    def to_vector(self, values: array[int]) -> Ints:
        return values.tolist()

    def full(self, size: int, value: int) -> Ints:
        return [value] * size

    def to_array(self, values: Ints) -> array[int]:
        return array("q", values)

    def take(self, values: array[int], places: array[int]) -> array[int]:
        return array("q", map(values.__getitem__, places))

    def nonzero(self, values: array[int]) -> array[int]:
        return array("q", compress(range(len(values)), values))

    def sort_links(self, ones: array[int], others: array[int]) -> tuple[tuple[int, int], ...]:
        return tuple(sorted(zip(map(min, ones, others), map(max, ones, others), strict=True)))

    def number_ids(self, values: array[int]) -> tuple[array[int], Ints]:
        distinct = sorted(set(values))
        place = dict(zip(distinct, range(len(distinct)), strict=True))
        return array("q", distinct), [place[value] for value in values]

    def kernel(self, function: F) -> F:
        return function


class NumbaEngine:
    """numba and the numpy it brings.

    Vectors hold node numbers and indices of links in four bytes each, so that more of them fit into the
    processor's cache. Only ids take eight.
    """

    def __init__(self) -> None:
        import numpy

        self._numpy: Any = numpy

    def to_vector(self, values: array[int]) -> Ints:
        made: Ints = self._numpy.array(values, dtype="int32")
        return made

    def full(self, size: int, value: int) -> Ints:
        made: Ints = self._numpy.full(size, value, dtype="int32")
        return made

    def to_array(self, values: Ints) -> array[int]:
        return self._array("i", values)

    def _array(self, typecode: str, values: Any) -> array[int]:
        made = array(typecode)
        made.frombytes(self._numpy.ascontiguousarray(values, dtype=typecode).view("uint8"))
        return made

    def take(self, values: array[int], places: array[int]) -> array[int]:
        return self._array(values.typecode, self._numpy.take(self._as_numpy(values), self._as_numpy(places)))

    def nonzero(self, values: array[int]) -> array[int]:
        return self.to_array(self._numpy.flatnonzero(self._as_numpy(values)))

    def sort_links(self, ones: array[int], others: array[int]) -> tuple[tuple[int, int], ...]:
        left, right = self._as_numpy(ones), self._as_numpy(others)
        smaller, larger = self._numpy.minimum(left, right), self._numpy.maximum(left, right)
        order = self._numpy.lexsort((larger, smaller))
        return tuple(zip(smaller[order].tolist(), larger[order].tolist(), strict=True))

    def _as_numpy(self, values: array[int]) -> Any:
        """A numpy view of the array."""
        return self._numpy.frombuffer(values, dtype=values.typecode)

    def number_ids(self, values: array[int]) -> tuple[array[int], Ints]:
        vector = self._numpy.array(values, dtype="int64")
        least, span = (int(vector.min()), int(vector.max()) - int(vector.min()) + 1) if values else (0, 0)
        if span > TABLE_FACTOR * len(values):
            distinct, places = self._numpy.unique(vector, return_inverse=True)
            return self._array("q", distinct), places.astype("int32")
        vector -= least
        used = self._numpy.zeros(span, dtype="int32")
        used[vector] = 1
        places = self._numpy.cumsum(used, dtype="int32") - 1
        return self._array("q", self._numpy.flatnonzero(used) + least), places[vector]

    def kernel(self, function: F) -> F:
        made: F = _compiled(function)
        return made


@cache
def _compiled(function: Any) -> Any:
    import numba

    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # no writable cache directory: compile again in each process
        return numba.njit(function)


@cache
def _numba_engine() -> NumbaEngine | None:
    try:
        import numba  # noqa: F401
    except ImportError:  # absent, or broken by a numpy it does not know
        return None
    return NumbaEngine()


def choose_engine(links: int, accelerate: bool | None) -> Engine:
    """Returns the numba engine if ``accelerate`` is True, or if it is None, numba is installed and there are
    enough ``links``.

    Raises:
        MissingExtra: ``accelerate`` is True and numba cannot be imported.
    """
    if accelerate is False or (accelerate is None and links < MIN_LINKS_FOR_NUMBA):
        return PlainEngine()
    if accelerate is None and find_spec("numba") is None:
        return PlainEngine()
    engine = _numba_engine()
    if engine is None and accelerate:
        raise MissingExtra("numba", "fast")
    return engine or PlainEngine()
