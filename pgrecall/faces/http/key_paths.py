"""Addresses with the key of a memory: a key may have any character, a line break too."""

from __future__ import annotations

from starlette.convertors import PathConvertor, register_url_convertor


class KeyConvertor(PathConvertor):
    """The end of a path, as by ``{name:path}``; that of Starlette ends at a line break and finds no route."""

    regex = "(?s:.*)"


def accept_any_key() -> None:
    """Has routes that are made from now on take any key. Their paths are named ``path`` as before."""
    register_url_convertor("path", KeyConvertor())
