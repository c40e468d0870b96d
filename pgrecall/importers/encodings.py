"""The encodings of source files: UTF-8, UTF-16 and UTF-32 by their marks, and Windows-1252 where it is plain.

Text that is not UTF-8 is read as Windows-1252, which contains Latin-1, if nothing speaks against it: most of
its letters are ASCII, as in every language of Western Europe, and it has no UTF-8 beside the wrong bytes, as
a damaged UTF-8 file has. Of one that is only damaged in a few places, these are replaced.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from io import BufferedReader, RawIOBase, TextIOWrapper
from typing import BinaryIO, NamedTuple, cast

WINDOWS_1252 = "texts that are not UTF-8, read as Windows-1252"
WRONG_BYTES = "bytes that are not text, replaced by U+FFFD"
_MARKS = {BOM_UTF32_LE: "utf-32", BOM_UTF32_BE: "utf-32", BOM_UTF16_LE: "utf-16", BOM_UTF16_BE: "utf-16"}
"""Encodings by the bytes that a file begins with; the mark of UTF-32 begins with that of UTF-16."""

_UNMARKED = ((re.compile(rb"([^\0]\0){2}"), "utf-16-le"), (re.compile(rb"(\0[^\0]){2}"), "utf-16-be"))
"""UTF-16 without a mark, by two characters of ASCII at the beginning."""

_LONGEST_MARK = 4
_REPLACED = "\ufffd"
_MOST_REPLACED = 10
"""Of this many characters, one may be wrong; more are another encoding, or no text at all."""

_WESTERN_SHARE = 4
"""Of this many letters, at most one may be outside of ASCII; in French, German and Icelandic fewer are."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f]")


class Decoded(NamedTuple):
    """A text, and how it had to be read: what a report counts, and how often."""

    text: str
    what: str = ""
    times: int = 0

    @property
    def notices(self) -> list[tuple[str, int]]:
        """What is counted, with its count; nothing for a text in its encoding."""
        return [(self.what, self.times)] if self.what else []


def encoding_by_mark(data: bytes) -> str | None:
    """``utf-16`` or ``utf-32`` for bytes that begin with its mark, or as UTF-16 does without one."""
    marked = next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)
    return marked or next((encoding for begin, encoding in _UNMARKED if begin.match(data)), None)


def decode(data: bytes) -> Decoded:
    """Text with ``\\n`` line ends and no byte order mark. A few wrong bytes are replaced and counted.

    Raises ValueError with the position of bytes that no encoding explains.
    """
    marked = encoding_by_mark(data)
    try:
        found = Decoded(data.decode(marked or "utf-8").lstrip("\ufeff"))
    except UnicodeDecodeError as error:
        found = decoded_anyway(error, marked or "utf-8", is_whole=marked is None)
    return found._replace(text=found.text.replace("\r\n", "\n").replace("\r", "\n"))


def decoded_anyway(error: UnicodeDecodeError, encoding: str, *, is_whole: bool, before: int = 0) -> Decoded:
    """The text of bytes that are not in their encoding.

    Args:
        error: what decoding them raised.
        encoding: what they should be in.
        is_whole: whether they may be in Windows-1252 instead.
        before: the number of bytes before them, for their position.

    Raises:
        ValueError: no encoding explains them; with the position of the first wrong byte.
    """
    data = error.object
    if is_whole and (text := western(data)):
        return Decoded(text, WINDOWS_1252, 1)
    text = data.decode(encoding, "replace")
    wrong = text.count(_REPLACED) - data.decode(encoding, "ignore").count(_REPLACED)
    most = max(1, len(text) // _MOST_REPLACED) if text.replace(_REPLACED, "").strip() else 0
    if wrong + len(_CONTROLS.findall(text)) > most:
        raise ValueError(wrong_byte(error, encoding, before)) from error
    return Decoded(text.removeprefix("\ufeff"), WRONG_BYTES, wrong)


def western(data: bytes) -> str | None:
    """Bytes that are not UTF-8 as text in Windows-1252; None if they may be something else."""
    if _CONTROLS.search(data.decode("latin-1")) or data.decode("utf-8", "ignore").translate(_NO_ASCII):
        return None
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:  # five bytes have no character
        return None
    letters = [character for character in text if character.isalpha()]
    foreign = sum(not character.isascii() for character in letters)
    return text if foreign * _WESTERN_SHARE <= len(letters) else None


_NO_ASCII = dict.fromkeys(range(128))


def wrong_byte(error: UnicodeDecodeError, encoding: str, before: int = 0) -> str:
    """The words for a wrong byte; ``before`` is the number of bytes before those that were decoded."""
    place, byte = before + error.start, error.object[error.start]
    return f"byte {place} (0x{byte:02x}) is not {encoding.upper()}; convert the file to UTF-8"


def as_utf8(file: BinaryIO) -> BinaryIO:
    """The file; if it begins with the mark of UTF-16 or UTF-32, its text in UTF-8."""
    encoding = encoding_by_mark(cast(BufferedReader, file).peek(_LONGEST_MARK)[:_LONGEST_MARK])
    return file if encoding is None else cast(BinaryIO, BufferedReader(_Recoded(file, encoding)))


class _Recoded(RawIOBase):
    """The text of a file as UTF-8. What is not in its encoding is an OSError."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._text = TextIOWrapper(file, encoding, newline="")
        self._encoding = encoding

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]  # BufferedReader gives a memoryview
        try:
            data = self._text.read(max(1, len(buffer) // 4)).encode("utf-8", "surrogatepass")
        except UnicodeError as error:
            raise OSError(f"it is damaged {self._encoding.upper()}: {error}") from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._text.close()
        super().close()
