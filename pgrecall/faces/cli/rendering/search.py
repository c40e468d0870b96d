"""Search results on a terminal: a table, or where that is too narrow one block a hit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from pgrecall.faces.cli.folding import Line, Piece, cells_of, fold
from pgrecall.faces.cli.rendering.snippets import matches, printable, snippet
from pgrecall.faces.cli.terminal import Terminal
from pgrecall.models.search import Hit, SearchResult
from pgrecall.search.explanation import sentence, terms

ZONE_STYLES = {"active": "green", "stale": "yellow", "fading": "dark_orange", "archived": "bright_black"}
NARROW = 72
_WIDTHS = {"#": 3, "score": 5, "relevance": 9, "vitality": 13, "layer": 9}
_LEFT = ("vitality", "layer", "memory")
_GAP = 2
_BAR = 8
_EIGHTHS = " ▏▎▍▌▋▊▉"


class _Column(NamedTuple):
    name: str
    begin: int
    width: int


def show_hits(terminal: Terminal, result: SearchResult, *, explain: bool) -> None:
    """Hits, best first, as wide as the terminal is."""
    if explain and result.names:
        terminal.print(f"Names taken out of the question's meaning: {', '.join(result.names)}.")
    terminal.lines(_laid_out(terminal, result.hits, explain=explain))


def vitality_bar(vitality: float, zone: str, *, unicode: bool) -> list[Piece]:
    """A bar of 8 cells in the zone's colour, and the number."""
    filled = min(max(vitality, 0.0), 1.0) * _BAR
    whole = int(filled)
    if unicode:
        part = _EIGHTHS[int((filled - whole) * 8)].strip() if whole < _BAR else ""
        bar = f"{'█' * whole}{part}".ljust(_BAR, "·")
    else:
        bar = f"{'#' * whole}".ljust(_BAR, ".")
    return [(bar, ZONE_STYLES.get(zone, "")), (f" {vitality:.2f}", "")]


def name_of(title: str, key: str | None, number: int) -> str:
    """What a memory is called: its title, else its key, else its id."""
    return " ".join(printable(title or key or f"memory {number}").split())


def _laid_out(terminal: Terminal, hits: Sequence[Hit], *, explain: bool) -> Iterator[Line]:
    columns = _columns(terminal.width, hits) if terminal.width >= NARROW else ()
    if columns:
        yield _beside([[(column.name, "bold")] for column in columns], columns)
    for hit in hits:
        if columns:
            yield from _row(hit, columns, unicode=terminal.unicode)
        else:
            yield from _block(hit, terminal.width, unicode=terminal.unicode)
        if explain and hit.explanation:
            yield from _indented(_explained(hit), terminal.width, 4)
        yield ()


def _columns(width: int, hits: Sequence[Hit]) -> tuple[_Column, ...]:
    """Where each column begins; that of memories has the room which the others leave."""
    columns, begin = [], 0
    for name, least in _WIDTHS.items():
        taken = max([least, *(len(str(hit.rank)) for hit in hits)]) if name == "#" else least
        columns.append(_Column(name, begin, taken))
        begin += taken + _GAP
    return (*columns, _Column("memory", begin, width - begin))


def _row(hit: Hit, columns: Sequence[_Column], *, unicode: bool) -> Iterator[Line]:
    room = columns[-1].width
    told = _told(hit, (2 if room > 50 else 3) * room - 4)
    cells: list[list[list[Piece]]] = [
        [[(str(hit.rank), "")]],
        [[(f"{hit.score:.2f}", "")]],
        [[(f"{hit.relevance:.2f}", "")]],
        [vitality_bar(hit.vitality, hit.zone, unicode=unicode), [_zone(hit)]],
        fold([(printable(hit.layer), "")], columns[-2].width),
        [line for part in told for line in fold(part, room)],
    ]
    for lines in zip_longest(*cells, fillvalue=[]):
        yield _beside(lines, columns)


def _beside(parts: Sequence[Line], columns: Sequence[_Column]) -> Line:
    """One line of the table, without the blanks that would end it."""
    line: list[Piece] = []
    at = 0
    for part, column in zip(parts, columns, strict=True):
        if not part:
            continue
        taken = cells_of(part)
        begin = column.begin + (0 if column.name in _LEFT else column.width - taken)
        line += [(" " * (begin - at), ""), *part]
        at = begin + taken
    return line


def _block(hit: Hit, width: int, *, unicode: bool) -> Iterator[Line]:
    title, *rest = _told(hit, 2 * width)
    yield from fold([(f"{hit.rank}. ", ""), *title], width)
    numbers = f"score {hit.score:.2f}, relevance {hit.relevance:.2f}, {printable(hit.layer)}"
    bar = [*vitality_bar(hit.vitality, hit.zone, unicode=unicode), (" ", ""), _zone(hit)]
    for part in ([(numbers, "")], bar, *rest):
        yield from _indented(part, width, 3)


def _indented(pieces: Sequence[Piece], width: int, by: int) -> Iterator[Line]:
    for line in fold(pieces, max(1, width - by)):
        yield [(" " * by, ""), *line]


def _told(hit: Hit, room: int) -> list[list[Piece]]:
    """What a hit is: its name, its key or id, and the part of its text that shows why."""
    told = [[(name_of(hit.title, hit.key, hit.id), "bold")]]
    if hit.title:
        told.append([(printable(hit.key) if hit.key else f"id {hit.id}", "cyan")])
    words, spans = snippet(hit.body, _words(hit), max(60, room))
    return [*told, _marked(words, spans)] if words else told


def _marked(text: str, spans: Sequence[tuple[int, int]]) -> list[Piece]:
    """The text with what stands at these places bold."""
    pieces, at = [], 0
    for begin, end in spans:
        pieces += [(text[at:begin], ""), (text[begin:end], "bold")]
        at = end
    return [*pieces, (text[at:], "")]


def _zone(hit: Hit) -> Piece:
    return hit.zone, ZONE_STYLES.get(hit.zone, "")


def _explained(hit: Hit) -> list[Piece]:
    text = f"{hit.title} {hit.author or ''} {hit.body}"[:200_000]
    spelt = {lexeme: text[begin:end].lower() for begin, end, lexeme in reversed(matches(text, _words(hit)))}
    told = [(printable(sentence(hit.explanation, spelt)), "italic")]
    return [*told, *((f"\n{what}: {printable(said)}", "dim") for what, said in terms(hit.explanation))]


def _words(hit: Hit) -> Mapping[str, float]:
    words: Mapping[str, float] = hit.explanation.get("arms", {}).get("lexical", {}).get("words", {})
    return words
