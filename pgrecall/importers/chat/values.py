"""The JSON values in a file of an export or a history: of one document, or of each line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pgrecall.errors import InvalidInput
from pgrecall.importers.chat.files import REPACK, ChatFile
from pgrecall.importers.chat.other_forms import held_in
from pgrecall.importers.encodings import decode
from pgrecall.importers.files import MAX_BYTES, numbered_lines
from pgrecall.importers.json_records import values_in
from pgrecall.importers.json_stream import JsonStream, noting_decoder
from pgrecall.nouns.imports.report import Problem

_MAX_LINE_BYTES = 64 * MAX_BYTES // 10
"""Bytes of one line: a session can contain pictures."""


def json_values(file: ChatFile, count: Callable[[str, int], None]) -> Iterator[Any]:
    """The elements of a JSON file's array, the conversations of an export, or its one value.

    Args:
        count: counts what was assumed, a plural noun.

    Raises:
        InvalidInput: the file is not JSON.
    """
    with file.opened() as data:
        try:
            stream = JsonStream(data)
            for value in stream:
                yield from [value] if stream.is_array else held_in(value) or [value]
            for what, times in stream.notices.items():
                count(what, times)
        except ValueError as error:
            raise InvalidInput(f"{file.shown} is not JSON: {error}.", hint=REPACK) from error


def json_lines(file: ChatFile, count: Callable[[str, int], None]) -> Iterator[tuple[str, Any] | Problem]:
    """The values of each line that is not blank, with their places; a Problem for what is not JSON.

    Args:
        count: counts what was assumed, a plural noun.
    """
    decoder = noting_decoder(count)
    with file.opened() as data:
        for number, line in numbered_lines(data, file.shown, _MAX_LINE_BYTES):
            place = f"line {number}"
            if line is None:
                yield Problem(file.shown, f"{place}: longer than {_MAX_LINE_BYTES // 1_000_000} MB.")
            elif line.strip():
                try:
                    decoded = decode(line)
                    for what, times in decoded.notices:
                        count(what, times)
                    values = values_in(decoded.text, decoder)
                    each = (
                        one for value in values for one in (value if isinstance(value, list) else [value])
                    )
                    for index, value in enumerate(each, start=1):
                        yield place if index == 1 else f"{place}, value {index}", value
                except RecursionError:
                    yield Problem(file.shown, f"{place}: its JSON is nested too deep.")
                except ValueError as error:
                    yield Problem(file.shown, f"{place}: is not JSON: {_words(error)}.")


def _words(error: ValueError) -> str:
    return str(error).replace("line 1 ", "")
