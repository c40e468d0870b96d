"""A folder of Markdown notes in Obsidian style: front matter, [[wikilinks]], tags; long notes are split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from pgrecall.errors import InvalidInput
from pgrecall.importers.draft_checks import MAX_BODY_LENGTH, storable
from pgrecall.importers.fields import ANY, Rules
from pgrecall.importers.files import leads_out, printable_path, require_file, require_folder
from pgrecall.importers.markdown.inline import RawLink
from pgrecall.importers.markdown.joplin import OTHER_ITEMS, Joplin
from pgrecall.importers.markdown.names import Named, NameIndex
from pgrecall.importers.markdown.notes import (
    TEMPLATES,
    Note,
    NoteFile,
    is_note,
    note_file,
    read_note,
    walk,
)
from pgrecall.importers.markdown.sections import Piece, Section, cut, outline
from pgrecall.importers.markdown.templates import Templates
from pgrecall.importers.text import Slugs, sentence, without_addresses, words
from pgrecall.nouns.imports.report import Problem, Skipped
from pgrecall.nouns.memories.models import Draft, DraftLink

SPLIT_AT = 1_500

_BETWEEN = " > "
_MAX_PATH_LENGTH = 500


def read_markdown(
    folder: Path,
    *,
    source: str,
    prefix: str = "",
    layer: str = "knowledge",
    split_at: int = SPLIT_AT,
    follow_links: bool = False,
    rules: Rules = ANY,
) -> Iterator[Draft | Problem | Skipped]:
    """Reads every ``*.md`` and ``*.markdown`` file below ``folder`` as drafts, in sorted order.

    The key of a note is ``prefix`` and its path without suffix. A note of more than ``split_at`` characters
    also yields one draft for each heading, ``key#heading``, linked ``part_of`` to the note. Files are read
    twice, first for their names, so that only names are kept in memory. A file that cannot be used yields one
    Problem and nothing else, and so does a symbolic link out of the folder, unless ``follow_links``. Front
    matter that cannot be read is a Problem, and the text of its note a draft.

    Raises:
        InvalidInput: ``folder`` is not a folder, or ``split_at`` is out of bounds.
    """
    require_folder(folder)
    _require_limit(split_at)
    return _Vault(folder, source, prefix, layer, split_at, rules).read(
        walk(folder, follow_links=follow_links), None, None if follow_links else folder.resolve()
    )


def read_note_file(
    path: Path,
    *,
    source: str,
    prefix: str = "",
    layer: str = "knowledge",
    split_at: int = SPLIT_AT,
    follow_links: bool = False,
    rules: Rules = ANY,
) -> Iterator[Draft | Problem | Skipped]:
    """Reads one Markdown file as drafts. Its links resolve to other notes in the folder, not imported."""
    require_file(path)
    _require_limit(split_at)
    if not is_note(path):
        raise InvalidInput(
            f"{printable_path(path)} is not a Markdown file.", hint="Its name should end in .md or .markdown."
        )
    root = path.parent.resolve()
    siblings = sorted(
        other
        for other in path.parent.iterdir()
        if other == path
        or (is_note(other) and other.is_file() and (follow_links or not leads_out(other, root)))
    )
    return _Vault(path.parent, source, prefix, layer, split_at, rules).read(
        siblings, path, None if follow_links else root
    )


def _require_limit(split_at: int) -> None:
    if not 1 <= split_at <= MAX_BODY_LENGTH:
        raise InvalidInput(
            f"split_at is {split_at}; it must lie between 1 and {MAX_BODY_LENGTH:,} characters."
        )


class _Vault:
    """Reads one folder: the options, and the names from the first pass."""

    def __init__(
        self, folder: Path, source: str, prefix: str, layer: str, split_at: int, rules: Rules
    ) -> None:
        self._folder = folder
        self._source = source
        self._prefix = prefix
        self._layer = layer
        self._split_at = split_at
        self._rules = rules
        self._names = NameIndex(prefix, folder.resolve().name)
        self._templates = Templates(folder)
        self._joplin = Joplin()

    def read(
        self, paths: Iterable[Path | Problem | Skipped], only: Path | None, root: Path | None
    ) -> Iterator[Draft | Problem | Skipped]:
        """The drafts, problems and notices of all paths, or of the path ``only``.

        Files but ``only`` must be in ``root``, if there is one, when they are read.
        """
        files: list[NoteFile] = []
        keys: dict[str, Path] = {}
        for path in paths:
            within = None if path == only else root
            found = self._file(path, keys, within) if isinstance(path, Path) else path
            if isinstance(found, NoteFile) and only is None and (passed_over := self._passed_over(found)):
                yield Skipped(passed_over, 1, (printable_path(found.path),))
            elif isinstance(found, NoteFile):
                self._names.add(self._named(found))
                files.append(found)
            elif only is None or path == only:
                yield found
        for file in files:
            if only is None or file.path == only:
                yield from self._drafts(file)

    def _passed_over(self, file: NoteFile) -> str:
        """What a file is called that is no note; empty for a note."""
        if file.relative in self._templates:
            return TEMPLATES
        return OTHER_ITEMS if self._joplin.takes(file.path, file.root) else ""

    def _file(self, path: Path, keys: dict[str, Path], root: Path | None) -> NoteFile | Problem:
        try:
            file = note_file(path, self._folder, self._prefix, root)
        except ValueError as error:
            return _problem(path, error)
        first = keys.setdefault(file.key, path)
        if first != path:
            return Problem(
                printable_path(path),
                f"Its key {file.key!r} is also that of {printable_path(first)}; rename one.",
            )
        return file

    def _named(self, file: NoteFile) -> Named:
        try:
            return read_note(file, self._split_at).named()
        except ValueError:
            # The second pass reports the problem; links by path still resolve to the key of the note.
            return Named(file.relative, file.key)

    def _drafts(self, file: NoteFile) -> Iterator[Draft | Problem | Skipped]:
        try:
            note = read_note(file, self._split_at, self._rules)
        except ValueError as error:
            yield _problem(file.path, error)
            return
        note = replace(note, front=self._joplin.completed(note.front, file.stem))
        where = printable_path(file.path)
        if note.is_template:
            yield Skipped(TEMPLATES, 1, (where,))
            return
        if note.front.fault:
            yield Problem(where, f"Front matter, {note.front.fault}.")
        yield from note.notices
        for draft in self._split(note) if note.sections else [self._whole(note)]:
            yield from storable(draft, where, rules=self._rules)

    def _whole(self, note: Note) -> Draft:
        front = note.front
        named = note.named()
        return Draft(
            body=note.text,
            title=without_addresses(note.title),
            key=note.file.key,
            layer=front.layer or self._layer,
            role=front.role,
            author=front.author,
            context=" / ".join(_folders(note)),
            source=self._source,
            session_id=front.session_id,
            tags=note.tags,
            aliases=note.aliases,
            metadata=front.metadata,
            occurred_at=front.occurred_at or note.changed_at,
            valid_from=front.valid_from,
            valid_until=front.valid_until,
            expires_at=front.expires_at,
            pinned=front.pinned,
            links=self._links(note.links, named, named.key),
        )

    def _split(self, note: Note) -> Iterator[Draft]:
        whole = self._whole(note)
        named = note.named()
        slugs = Slugs(section.slug for section in note.sections)
        for section in note.sections:
            title = _section_title(note.title, section.trail)
            context = " / ".join((*_folders(note), note.title, *section.trail))
            pieces = list(cut(section.blocks, self._split_at))
            if not section.slug:
                pieces = self._with_outline(note, section, pieces)
            for number, piece in enumerate(pieces, start=1):
                slug = section.slug
                if number > 1:
                    slug = slugs.take(f"{section.slug}-part-{number}".lstrip("-"))
                key = f"{named.key}#{slug}" if slug else named.key
                own = note.front.links if key == named.key else ()
                links = self._links((*own, *piece.links), named, key)
                if key == named.key:
                    yield replace(whole, body=piece.text, links=links)
                else:
                    yield replace(
                        whole,
                        key=key,
                        title=title if number == 1 else f"{title} (part {number})",
                        body=piece.text,
                        context=context,
                        aliases=(),
                        links=(DraftLink(named.key, "part_of"), *links),
                    )

    def _with_outline(self, note: Note, own: Section, pieces: list[Piece]) -> list[Piece]:
        """The pieces of the text before the first heading, with the note's outline if that text is short."""
        if not own.is_short:
            return pieces
        headings = outline(note.blocks, self._split_at - own.length)
        text = "\n\n".join([*(piece.text for piece in pieces), headings])
        links = (link for block in own.blocks for line in block.lines for link in line.links)
        return [Piece(text.strip("\n") or note.title, tuple(links))]

    def _links(self, links: Iterable[RawLink], origin: Named, key: str) -> tuple[DraftLink, ...]:
        """Each target once, except the draft itself and the note it is part of."""
        targets = dict.fromkeys(self._names.target(link, origin) for link in links)
        return tuple(DraftLink(target) for target in targets if target and target not in (key, origin.key))


def _section_title(title: str, trail: tuple[str, ...]) -> str:
    """``Note > Heading > Sub``; a path that is too long loses its middle."""
    names = [title, *(trail[1:] if trail[:1] == (title,) else trail)]
    whole = without_addresses(_BETWEEN.join(names))
    if len(whole) <= _MAX_PATH_LENGTH:
        return whole
    return _BETWEEN.join((title[: _MAX_PATH_LENGTH // 2], "…", names[-1]))


def _folders(note: Note) -> list[str]:
    return [words(part) for part in PurePosixPath(note.file.relative).parent.parts]


def _problem(path: Path, error: ValueError) -> Problem:
    return Problem(printable_path(path), sentence(error))
