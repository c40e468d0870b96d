"""Reads a JSON file value by value, so that a large array is never in memory as a whole.

The decoder is that of Python's ``json``, which reports the line of an error; an export of 500 MB is read
within the memory of its largest element.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from pgrecall.encoding import without_json_strings
from pgrecall.importers.encodings import WINDOWS_1252, WRONG_BYTES, decoded_anyway

_CHUNK = 1 << 20
MAX_ELEMENT_LENGTH = 128_000_000
"""Characters of one element; the longest conversations have a few million."""

MAX_CONTAINERS = 500_000
"""Lists and objects of one value. Python parses it in one go, in which a service answers nobody else."""

_MAX_TOKEN_LENGTH = 12
"""Characters of a literal or escape that the end of the buffer can cut: ``\\ud83d\\ude00``."""

DOUBLED = "fields given twice, of which the first counts"
_MOST_DIGITS = 4_000
_SPACE = re.compile(r"[ \t\r\n]*")
_ESCAPED = re.compile("[\udc80-\udcff]")
"""Wrong bytes, as Python's ``surrogateescape`` decodes them."""


def whole_number(digits: str) -> int | str:
    """A number in JSON; as text if it has more digits than Python converts."""
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


def noting_decoder(count: Callable[[str, int], None]) -> json.JSONDecoder:
    """A decoder for which tabs and line breaks in texts do no harm.

    Args:
        count: is told of each object that has a field twice.
    """

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            count(DOUBLED, 1)
            found = dict(reversed(pairs))
        return found

    return json.JSONDecoder(object_pairs_hook=read, parse_int=whole_number, strict=False)


def require_few_containers(text: str) -> None:
    """Raises ValueError for a JSON value of very many lists and objects: 64 MB of them take a minute."""
    if text.count("[") + text.count("{") > MAX_CONTAINERS:
        structure = without_json_strings(text.encode())
        if structure.count(b"[") + structure.count(b"{") > MAX_CONTAINERS:
            raise ValueError(f"it has more than {MAX_CONTAINERS:,} JSON lists and objects; split it")


class JsonStream:
    """The elements of the array in a file, or its values, one after the other, if it is not an array.

    Attributes:
        is_array: whether the file contains an array.
        notices: what had to be assumed of values read whole, and how often.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Reads the beginning of the file. Raises ValueError with the position of what is not JSON."""
        self._file = file
        self._decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._ascii = True
        self.notices = Counter[str]()
        self._json = noting_decoder(lambda what, times: self.notices.update({what: times}))
        self._text = ""
        self._at = 0
        self._bytes = 0
        self._lines = 0
        self._columns = 0
        self._ended = False
        self.is_array = self._next_character() == "["

    def __iter__(self) -> Iterator[Any]:
        if not self.is_array:
            yield self._value()
            while self._next_character():
                yield self._value()
        else:
            self._at += 1
            if self._next_character() == "]":
                self._at += 1
            else:
                yield from self._elements()
        if self._next_character():
            raise self._fault("unexpected text after the end", self._at)

    def _elements(self) -> Iterator[Any]:
        while True:
            self._next_character()
            yield self._value()
            end = self._next_character()
            if end not in (",", "]"):
                raise self._fault("expected , or ] after an element", self._at)
            self._at += 1
            if end == "]":
                return

    def _value(self) -> Any:
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._ended or not self._is_cut(error):
                    raise self._fault(error.msg, error.pos) from error
                self._read_on()
                continue
            except RecursionError as error:
                raise self._fault("its JSON is nested too deep", self._at) from error
            if end == len(self._text) and not self._ended:  # a number may continue
                self._read_on()
                continue
            self._at = end
            return value

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the end of what was read, and not the file, may cause this error."""
        return error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _MAX_TOKEN_LENGTH

    def _next_character(self) -> str:
        """The next character that is not white space; empty at the end of the file."""
        while True:
            found = _SPACE.match(self._text, self._at)
            assert found is not None
            self._at = found.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._read_on()

    def _read_on(self) -> None:
        """Drops what was decoded, and reads at least as much again as is left, so that work stays linear."""
        self._lines += self._text.count("\n", 0, self._at)
        line_end = self._text.rfind("\n", 0, self._at)
        self._columns = self._at - line_end - 1 if line_end >= 0 else self._columns + self._at
        self._text = self._text[self._at :]
        self._at = 0
        if len(self._text) > MAX_ELEMENT_LENGTH:
            raise ValueError(
                f"the value that begins in line {self._lines + 1} does not end within "
                f"{MAX_ELEMENT_LENGTH // 1_000_000} million characters"
            )
        data = self._file.read(max(_CHUNK, len(self._text)))
        read = self._decoded(data)
        self._ascii = self._ascii and read.isascii()
        self._text += read
        self._bytes += len(data)
        self._ended = not data
        require_few_containers(self._text)  # it begins with an element, or between two

    def _decoded(self, data: bytes) -> str:
        """The text of what was read next. Raises ValueError if no encoding explains it."""
        try:
            read = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            before = self._bytes - (len(error.object) - len(data))
            anyway = decoded_anyway(error, "utf-8", is_whole=self._ascii, before=before)
            is_western = anyway.what == WINDOWS_1252
            self.notices.update([WINDOWS_1252] * is_western)
            decoder = codecs.getincrementaldecoder("cp1252" if is_western else "utf-8")
            self._decoder = decoder("surrogateescape")
            read = self._decoder.decode(error.object, final=not data)
        read, wrong = _ESCAPED.subn("\ufffd", read)
        self.notices.update({WRONG_BYTES: wrong} if wrong else {})
        return read

    def _fault(self, words: str, at: int) -> ValueError:
        line = self._lines + self._text.count("\n", 0, at) + 1
        line_end = self._text.rfind("\n", 0, at)
        column = at - line_end if line_end >= 0 else self._columns + at + 1
        return ValueError(f"line {line}, column {column}: {words}")
