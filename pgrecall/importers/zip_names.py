"""The names of the files in a ZIP archive, as their packers meant them.

A name that does not say that it is UTF-8 is in the encoding of the packer's system, which is nowhere named.
Among those that can be, the one counts whose letters are those of the archive's texts.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, takewhile
from typing import NamedTuple
from zipfile import ZipFile, ZipInfo

from pgrecall.importers.encodings import decode
from pgrecall.importers.files import ZIP_FAULTS

_SAYS_UTF8 = 0x800
_UTF8_NAME = 0x7075
"""The field of an entry in which Info-ZIP and WinRAR give its name in UTF-8 too."""

_USUAL = "the letters of DOS or Windows"
_ENCODINGS = (
    "cp437", "cp850", "cp1252", "cp932", "gbk", "big5", "cp949", "cp866", "cp1251", "cp852", "cp1250",
    "cp737", "cp1253", "cp857", "cp1254", "cp862", "cp1255", "cp720", "cp1256", "cp874",
)  # fmt: skip
"""Of DOS and Windows in the countries that have others than ASCII."""

_WESTERN = re.compile(rb"(?=.*[\xc0-\xe0\xe2-\xff])[\x20-\x7e\xc0-\xff]+")
"""A name in Windows-1252; one whose only letter beside ASCII has the byte E1 may have the sharp s of DOS."""

_ROOT = re.compile("^(?:[A-Za-z]:)?/+")
_TEXTS = (".md", ".markdown", ".txt", ".json")
_MOST_TEXTS, _MOST_BYTES = 200, 20_000
_ENOUGH, _AHEAD = 0.55, 0.1
"""The share of letters of names that are those of the texts, and how far it is ahead of any other reading."""

_OF_SCRIPT, _RARE = 0.6, 0.3
"""What letters count that the texts do not have, but others of their script."""

_COMMON = {"cp932": range(0x88, 0x98), "gbk": range(0xB0, 0xD8), "big5": range(0xA4, 0xC7)}
"""The first bytes of the common Chinese characters: a wrong reading mostly has rare ones."""


class Names(NamedTuple):
    """The files of an archive that are not hidden, under their names.

    Attributes:
        entries: of several with one name the last, as when they are unpacked.
        repeated: names that several files have.
        assumed: what the names that are not UTF-8 were read as; empty if all are.
        foreign: how many are not.
    """

    entries: list[ZipInfo]
    repeated: list[str]
    assumed: str
    foreign: int


def names_in(archive: ZipFile) -> Names:
    """The names of all files, with what had to be assumed. The entries of the archive get them."""
    entries = archive.infolist()
    foreign = [packed for entry in entries if (packed := _packed(entry)) and not _is_utf8(packed)]
    encoding = _encoding_of(foreign, archive) if foreign else None
    for entry in entries:
        entry.filename = _meant(entry, encoding)
    found = {entry.filename: entry for entry in entries}
    repeated = [name for name, count in Counter(entry.filename for entry in entries).items() if count > 1]
    files = {
        name: entry for name, entry in found.items() if name and not entry.is_dir() and not _is_of_macos(name)
    }
    folders = zip(*(name.split("/")[:-1] for name in files), strict=False)
    # A hidden folder that holds everything, such as ``.claude``, was packed on purpose.
    top = sum(1 for _ in takewhile(lambda parts: len(set(parts)) == 1, folders))
    named = [entry for name, entry in files.items() if not _is_hidden(name.split("/")[top:])]
    return Names(named, repeated, (encoding.upper() if encoding else _USUAL) if foreign else "", len(foreign))


def leads_out_of(entry: ZipInfo) -> bool:
    """Whether an entry names a place outside of its archive."""
    return ".." in entry.filename.split("/")


def _packed(entry: ZipInfo) -> bytes:
    """The bytes of a name that does not say what it is in; none of one that does, or is ASCII."""
    name = entry.orig_filename
    if entry.flag_bits & _SAYS_UTF8 or name.isascii() or _unicode_name(entry.extra):
        return b""
    try:
        return name.encode("cp437")
    except UnicodeError:  # it was not read from an archive
        return b""


def _unicode_name(extra: bytes) -> str:
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == _UTF8_NAME and size > 5:  # after a version and a checksum
            return extra[9 : 4 + size].decode("utf-8", "replace")
        extra = extra[4 + size :]
    return ""


def _meant(entry: ZipInfo, encoding: str | None) -> str:
    """The name of an entry: macOS writes UTF-8 without saying so, and Windows separates folders by ``\\``.

    Some programs of Windows write its own letters instead of those of DOS, which has boxes in their place.

    A path from the root of a disk is one in the archive, as programs that unpack it take it.
    """
    name = _unicode_name(entry.extra) or entry.orig_filename
    if packed := _packed(entry):
        with suppress(UnicodeError):
            if _is_utf8(packed):
                name = packed.decode("utf-8")
            elif encoding or _WESTERN.fullmatch(packed):
                name = packed.decode(encoding or "cp1252")
    return _ROOT.sub("", name.partition("\0")[0].replace("\\", "/"))


def _is_utf8(packed: bytes) -> bool:
    try:
        packed.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _encoding_of(names: list[bytes], archive: ZipFile) -> str | None:
    """The encoding in which the letters of names are those of the texts; None if that tells none."""
    known = {letter for text in _texts(archive) for letter in text.lower() if _counts(letter)}
    scripts = {_script(letter) for letter in known}
    shares: dict[str, tuple[float, str]] = {}
    for encoding in _ENCODINGS if known else ():
        with suppress(UnicodeDecodeError):
            read = "/".join(name.decode(encoding) for name in names)
            letters = [letter for letter in read.lower() if _counts(letter)]
            points = sum(
                1.0 if letter in known else _likely(letter, encoding) * (_script(letter) in scripts)
                for letter in letters
            )
            shares.setdefault(read, (points / len(letters) if letters else 0.0, encoding))
    best, second = [*sorted(shares.values(), key=lambda one: -one[0]), (0.0, ""), (0.0, "")][:2]
    return best[1] if best[0] >= _ENOUGH and best[0] - second[0] >= _AHEAD else None


def _counts(letter: str) -> bool:
    """Whether a character tells something: not ASCII, and no punctuation, which many encodings share."""
    return not letter.isascii() and unicodedata.category(letter)[0] != "P"


def _script(letter: str) -> str:
    """The script of a letter, both kana as one; empty for anything else."""
    return unicodedata.name(letter, "")[:4].replace("HIRA", "KATA") if letter.isalpha() else ""


def _likely(letter: str, encoding: str) -> float:
    """How likely a letter is that the texts do not have, though they have others of its script."""
    common = _COMMON.get(encoding)
    if common:
        return _OF_SCRIPT if letter.encode(encoding)[0] in common or _script(letter) != "CJK " else _RARE
    return _RARE if _script(letter) == "LATI" else _OF_SCRIPT


def _texts(archive: ZipFile) -> Iterator[str]:
    """The beginnings of the first texts of an archive."""
    texts = (entry for entry in archive.infolist() if entry.orig_filename.lower().endswith(_TEXTS))
    for entry in islice(texts, _MOST_TEXTS):
        with suppress(*ZIP_FAULTS, ValueError), archive.open(entry) as file:
            yield decode(file.read(_MOST_BYTES)).text


def _is_hidden(parts: list[str]) -> bool:
    return any(part.startswith(".") and part.strip(".") for part in parts)


def _is_of_macos(name: str) -> bool:
    """Whether it is among what macOS adds to an archive."""
    return "__MACOSX" in name.split("/")
