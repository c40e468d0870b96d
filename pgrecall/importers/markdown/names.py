"""Resolves links to keys by the names of a folder's notes: paths, file stems, titles and aliases."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from pgrecall.importers.draft_checks import MAX_TARGET_LENGTH
from pgrecall.importers.markdown.inline import RawLink, note_name
from pgrecall.importers.text import folded_name, normalized_name, slugify, without_marks


@dataclass(frozen=True, slots=True)
class Named:
    """The names of one note. ``relative`` is its path in the folder, with forward slashes and without suffix.

    ``parts`` maps the text of each heading, and its anchor, to the slug of its part; empty for a note that is
    not split.
    """

    relative: str
    key: str
    title: str = ""
    aliases: tuple[str, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.relative)

    def part(self, heading: str) -> str | None:
        """The part with this heading: by its text, so that C++ is not C, or by its anchor."""
        if not heading:
            return None
        text = without_marks(heading)
        forms = (normalized_name(text), folded_name(text), slugify(heading))
        return next((self.parts[form] for form in forms if form in self.parts), None)


class NameIndex:
    """Finds notes by the names in links, ignoring case. Takes a few hundred bytes a note.

    A name in full-width letters is found by ordinary ones, and the other way round, where no note has the
    name as it is typed.
    """

    def __init__(self, prefix: str = "", vault: str = "") -> None:
        """Args: the prefix of keys, and the name of the folder, with which a path in a link may begin."""
        self._prefix = prefix
        self._vault = normalized_name(vault)
        self._exact, self._folded = _Names(), _Names()

    def add(self, note: Named) -> None:
        """Adds a note under all its names."""
        self._exact.add(note, normalized_name)
        texts = (note.relative, note.title, *note.aliases)
        if any(folded_name(text) != normalized_name(text) for text in texts):
            self._folded.add(note, folded_name)

    def target(self, link: RawLink, origin: Named) -> str | None:
        """The key of the link's target, or its text if no note has that name; None if it has no target.

        A heading that became a part resolves to the key of the part, any other heading to that of its note.
        """
        note = origin if not link.target else self._find(link, origin.folder)
        if note is not None:
            part = note.part(link.heading)
            return f"{note.key}#{part}" if part else note.key
        text = self._absent(link, origin.folder) if link.is_named else ""
        return text if 0 < len(text) <= MAX_TARGET_LENGTH and "\0" not in text else None

    def _absent(self, link: RawLink, folder: str) -> str:
        """The target of a link to a missing note: for a path the key that note would have, else the name."""
        if link.relative and not (path := _from(folder, link.target)).startswith(".."):
            return self._prefix + path
        return link.target

    def _find(self, link: RawLink, folder: str) -> Named | None:
        """The note, by the link as it is written; else without the vault, ``%20`` or a last ``#``."""
        written = unquote(link.target)
        path = _from(folder, written) if written.startswith("../") else written
        top, _, inside = path.removeprefix("../").lstrip("/").partition("/")
        in_vault = f"/{inside}" if normalized_name(top) == self._vault else written
        targets = link.target, written, in_vault, written.rstrip("#")
        for target in dict.fromkeys(targets):
            for names, form in (
                (self._exact, normalized_name), (self._exact, folded_name), (self._folded, folded_name),
            ):  # fmt: skip
                if note := names.find(replace(link, target=target), folder, form):
                    return note
        return None


class _Names:
    """Notes by their names in one form."""

    def __init__(self) -> None:
        self._by_path: dict[str, Named] = {}
        self._by_stem: dict[str, list[Named]] = {}
        self._by_title: dict[str, list[Named]] = {}
        self._by_alias: dict[str, list[Named]] = {}

    def add(self, note: Named, form: Callable[[str], str]) -> None:
        path = form(note.relative)
        self._by_path.setdefault(path, note)
        self._by_stem.setdefault(posixpath.basename(path), []).append(note)
        if note.title:
            self._by_title.setdefault(form(note.title), []).append(note)
        for alias in note.aliases:
            self._by_alias.setdefault(form(alias), []).append(note)

    def find(self, link: RawLink, folder: str, form: Callable[[str], str]) -> Named | None:
        target = note_name(link.target)
        if target.startswith(("./", "../")) or (link.relative and not link.is_named):
            return self._by_path.get(form(_from(folder, target)))
        is_path = link.relative or target.startswith("/")
        if is_path and (note := self._by_path.get(form(_from(folder, target)))):
            return note
        name = form(target).strip("/")
        if "/" in name and (note := self._by_partial_path(name, folder, form)):
            return note
        for names in (self._by_stem, self._by_title, self._by_alias):
            notes = names.get(name, [])
            if len(notes) == 1 or (notes and not link.relative):  # one of many READMEs is meant by its path
                return _nearest(notes, folder)
        return None

    def _by_partial_path(self, name: str, folder: str, form: Callable[[str], str]) -> Named | None:
        whole = self._by_path.get(name) or self._by_path.get(form(_from(folder, name)))
        if whole is not None:
            return whole
        stems = self._by_stem.get(posixpath.basename(name), [])
        return _nearest([note for note in stems if form(note.relative).endswith(f"/{name}")], folder)


def _nearest(notes: list[Named], folder: str) -> Named | None:
    """A note in the same folder, else the one with the shortest path, else the first by name."""
    return min(
        notes, key=lambda note: (note.folder != folder, len(note.relative), note.relative), default=None
    )


def _from(folder: str, path: str) -> str:
    """The path from the top for a path relative to ``folder``, or from the top if it begins with a slash."""
    joined = path.lstrip("/") if path.startswith("/") else posixpath.join(folder, path)
    return posixpath.normpath(joined)
