"""The encodings of source files: UTF-8, UTF-16 and UTF-32 by their marks, and Windows-1252 where it is plain.

Text that is not UTF-8 is read as Windows-1252, which contains Latin-1, if nothing speaks against it: most of
its letters are ASCII, as in every language of Western Europe, and it has no UTF-8 beside the wrong bytes, as
a damaged UTF-8 file has.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from io import BufferedReader, RawIOBase, TextIOWrapper
from typing import BinaryIO, cast

WINDOWS_1252 = "texts that are not UTF-8, read as Windows-1252"
_MARKS = {BOM_UTF32_LE: "utf-32", BOM_UTF32_BE: "utf-32", BOM_UTF16_LE: "utf-16", BOM_UTF16_BE: "utf-16"}
"""Encodings by the bytes that a file begins with; the mark of UTF-32 begins with that of UTF-16."""

_LONGEST_MARK = 4
_WESTERN_SHARE = 4
"""Of this many letters, at most one may be outside of ASCII; in French, German and Icelandic fewer are."""

_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f]")


def encoding_by_mark(data: bytes) -> str | None:
    """``utf-16`` or ``utf-32`` for bytes that begin with its mark."""
    return next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)


def decode(data: bytes) -> tuple[str, bool]:
    """Text with ``\\n`` line ends and no byte order mark, and whether it was read as Windows-1252.

    Raises ValueError with the position of bytes that no encoding explains.
    """
    marked = encoding_by_mark(data)
    try:
        text, guessed = data.decode(marked or "utf-8-sig"), False
    except UnicodeDecodeError as error:
        text, guessed = (western(data) if marked is None else None) or "", True
        if not text:
            raise ValueError(wrong_byte(error, marked or "utf-8")) from error
    return text.replace("\r\n", "\n").replace("\r", "\n"), guessed


def western(data: bytes) -> str | None:
    """Bytes that are not UTF-8 as text in Windows-1252; None if they may be something else."""
    if _CONTROLS.search(data) or data.decode("utf-8", "ignore").translate(_NO_ASCII):
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
