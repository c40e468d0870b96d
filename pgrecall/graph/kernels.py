"""Two ways to run one kernel: as plain Python on lists, or compiled by numba on numpy arrays.

A kernel is a module-level function on integer vectors that it indexes and never resizes. What it
calls in turn is named in ``uses``. numba is imported when first needed, never by importing pgrecall.
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

WORTH_COMPILING = 20_000
"""Below this many links plain Python ends before numba is imported (about half a second)."""

DENSE = 4
"""Up to so many possible ids for each end of a link, a table finds their places faster than a sort."""


class Engine(Protocol):
    """Makes the vectors that its kernels index."""

    def vector(self, values: array[int]) -> Ints: ...
    def filled(self, size: int, value: int) -> Ints: ...
    def copied(self, values: Ints) -> Ints: ...
    def packed(self, values: Ints) -> array[int]: ...
    def taken(self, values: array[int], places: array[int]) -> array[int]:
        """The value at each place."""
        ...

    def marked(self, values: array[int]) -> array[int]:
        """The places that do not hold 0, ascending."""
        ...

    def sorted_links(self, ones: array[int], others: array[int]) -> tuple[tuple[int, int], ...]:
        """The pairs of what stands side by side, each with the smaller first, ascending."""
        ...

    def relabelled(self, values: array[int]) -> tuple[array[int], Ints]:
        """The distinct values in ascending order, and for each value its place among them."""
        ...

    def kernel(self, function: F, *uses: Callable[..., Any]) -> F: ...


class PlainEngine:
    """Python alone. Lists, because reading an ``array`` makes a new int each time."""

    def vector(self, values: array[int]) -> Ints:
        return values.tolist()

    def filled(self, size: int, value: int) -> Ints:
        return [value] * size

    def copied(self, values: Ints) -> Ints:
        return list(values)

    def packed(self, values: Ints) -> array[int]:
        return array("q", values)

    def taken(self, values: array[int], places: array[int]) -> array[int]:
        return array("q", map(values.__getitem__, places))

    def marked(self, values: array[int]) -> array[int]:
        return array("q", compress(range(len(values)), values))

    def sorted_links(self, ones: array[int], others: array[int]) -> tuple[tuple[int, int], ...]:
        return tuple(sorted(zip(map(min, ones, others), map(max, ones, others), strict=True)))

    def relabelled(self, values: array[int]) -> tuple[array[int], Ints]:
        distinct = sorted(set(values))
        place = dict(zip(distinct, range(len(distinct)), strict=True))
        return array("q", distinct), [place[value] for value in values]

    def kernel(self, function: F, *uses: Callable[..., Any]) -> F:  # noqa: ARG002
        return function


class NumbaEngine:
    """numba and the numpy it brings.

    Its vectors hold node numbers and places of links, in four bytes each: kernels jump about in them,
    and twice as many are at hand. Only ids take eight.
    """

    def __init__(self) -> None:
        import numpy

        self._numpy: Any = numpy

    def vector(self, values: array[int]) -> Ints:
        made: Ints = self._numpy.array(values, dtype="int32")
        return made

    def filled(self, size: int, value: int) -> Ints:
        made: Ints = self._numpy.full(size, value, dtype="int32")
        return made

    def copied(self, values: Ints) -> Ints:
        made: Ints = self._numpy.array(values)
        return made

    def packed(self, values: Ints) -> array[int]:
        return self._array("i", values)

    def _array(self, typecode: str, values: Any) -> array[int]:
        made = array(typecode)
        made.frombytes(self._numpy.ascontiguousarray(values, dtype=typecode).view("uint8"))
        return made

    def taken(self, values: array[int], places: array[int]) -> array[int]:
        return self._array(values.typecode, self._numpy.take(self._seen(values), self._seen(places)))

    def marked(self, values: array[int]) -> array[int]:
        return self.packed(self._numpy.flatnonzero(self._seen(values)))

    def sorted_links(self, ones: array[int], others: array[int]) -> tuple[tuple[int, int], ...]:
        left, right = self._seen(ones), self._seen(others)
        smaller, larger = self._numpy.minimum(left, right), self._numpy.maximum(left, right)
        order = self._numpy.lexsort((larger, smaller))
        return tuple(zip(smaller[order].tolist(), larger[order].tolist(), strict=True))

    def _seen(self, values: array[int]) -> Any:
        """The same memory as a numpy vector."""
        return self._numpy.frombuffer(values, dtype=values.typecode)

    def relabelled(self, values: array[int]) -> tuple[array[int], Ints]:
        vector = self._numpy.array(values, dtype="int64")
        least, span = (int(vector.min()), int(vector.max()) - int(vector.min()) + 1) if values else (0, 0)
        if span > DENSE * len(values):
            distinct, places = self._numpy.unique(vector, return_inverse=True)
            return self._array("q", distinct), places.astype("int32")
        vector -= least
        used = self._numpy.zeros(span, dtype="int32")
        used[vector] = 1
        places = self._numpy.cumsum(used, dtype="int32") - 1
        return self._array("q", self._numpy.flatnonzero(used) + least), places[vector]

    def kernel(self, function: F, *uses: Callable[..., Any]) -> F:
        for helper in uses:
            _make_callable_from_kernels(helper)
        made: F = _compiled(function)
        return made


@cache
def _make_callable_from_kernels(helper: Callable[..., Any]) -> None:
    from numba.extending import register_jitable

    register_jitable(helper)


@cache
def _compiled(function: Any) -> Any:
    import numba

    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # no directory to cache in can be written: compile anew in each process
        return numba.njit(function)


@cache
def _numba_engine() -> NumbaEngine | None:
    try:
        import numba  # noqa: F401
    except ImportError:  # absent, or broken by a numpy it does not know
        return None
    return NumbaEngine()


def choose_engine(links: int, accelerate: bool | None) -> Engine:
    """numba when asked for; with None, when it is installed and ``links`` are enough to repay it.

    Raises:
        MissingExtra: ``accelerate`` is True and numba cannot be imported.
    """
    if accelerate is False or (accelerate is None and links < WORTH_COMPILING):
        return PlainEngine()
    if accelerate is None and find_spec("numba") is None:
        return PlainEngine()
    engine = _numba_engine()
    if engine is None and accelerate:
        raise MissingExtra("numba", "fast")
    return engine or PlainEngine()
