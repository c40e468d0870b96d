"""Packages whose names are imported once they are asked for: of a hundred modules a search needs twenty."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module


def lazy_attributes(
    package: str, homes: Mapping[str, Iterable[str]], modules: Iterable[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and the ``__dir__`` of a package or module; ``homes`` says which module has which
    names (``.x`` is one beside it), and ``modules`` are found whole."""
    home_of = {name: module for module, names in homes.items() for name in names}
    whole = frozenset(modules)
    known = sys.modules[package].__dict__

    def find(name: str) -> object:
        if name in whole:
            return import_module(f".{name}", package)
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        known[name] = getattr(import_module(f".{home_of[name]}", package), name)
        return known[name]

    return find, lambda: sorted({*known, *home_of, *whole})
