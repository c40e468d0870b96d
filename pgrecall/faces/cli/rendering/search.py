"""Search results on a terminal: a table, or one block for each hit where that is too narrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pgrecall.faces.cli.console import SafeConsole, styled
from pgrecall.faces.cli.rendering.snippets import matches, printable, snippet
from pgrecall.models.search import Hit, SearchResult
from pgrecall.search.explanation import sentence, terms

ZONE_STYLES = {"active": "green", "stale": "yellow", "fading": "dark_orange", "archived": "bright_black"}
NARROW = 72
_WIDTHS = {"#": 3, "score": 5, "relevance": 9, "vitality": 13, "layer": 9}
_NUMBERS = ("#", "score", "relevance")
_BAR = 8
_EIGHTHS = " ▏▎▍▌▋▊▉"


def show_hits(console: SafeConsole, result: SearchResult, *, explain: bool) -> None:
    """Hits, best first, as wide as the terminal is."""
    if explain and result.names:
        names = f"Names taken out of the question's meaning: {', '.join(result.names)}."
        console.print(names, soft_wrap=False)
    wide = console.width >= NARROW
    # The columns of all hits have the same widths; explanations stand between them, as wide as the terminal.
    rank = max([_WIDTHS["#"], *(len(str(hit.rank)) for hit in result.hits)])
    for place, hit in enumerate(result.hits):
        rows = [_row(console, hit, rank, header=not place)] if wide else _block(console, hit)
        for row in rows:
            console.print(row, soft_wrap=False)
        if explain and hit.explanation:
            console.print(Padding(_explanation(hit), (0, 0, 0, 4)), soft_wrap=False)
        console.print()


def vitality_bar(vitality: float, zone: str, *, unicode: bool) -> Text:
    """A bar of 8 cells in the zone's colour, and the number."""
    filled = min(max(vitality, 0.0), 1.0) * _BAR
    whole = int(filled)
    if unicode:
        part = _EIGHTHS[int((filled - whole) * 8)].strip() if whole < _BAR else ""
        bar = f"{'█' * whole}{part}".ljust(_BAR, "·")
    else:
        bar = f"{'#' * whole}".ljust(_BAR, ".")
    return styled((bar, ZONE_STYLES.get(zone, "")), f" {vitality:.2f}")


def zone_text(zone: str) -> Text:
    """The zone's name in its colour."""
    return styled((zone, ZONE_STYLES.get(zone, "")))


def name_of(title: str, key: str | None, number: int) -> str:
    """What a memory is called: its title, else its key, else its id."""
    return " ".join(printable(title or key or f"memory {number}").split())


def _row(console: SafeConsole, hit: Hit, rank: int, *, header: bool) -> Table:
    row = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold", show_header=header)
    for name, width in (_WIDTHS | {"#": rank}).items():
        row.add_column(name, width=width, justify="right" if name in _NUMBERS else "left", overflow="fold")
    room = console.width - rank - sum(_WIDTHS.values()) + _WIDTHS["#"] - 2 * len(_WIDTHS)
    row.add_column("memory", width=room, overflow="fold")
    bar = vitality_bar(hit.vitality, hit.zone, unicode=console.unicode)
    row.add_row(
        str(hit.rank),
        f"{hit.score:.2f}",
        f"{hit.relevance:.2f}",
        Text("\n").join([bar, zone_text(hit.zone)]),
        hit.layer,
        Text("\n").join(_description(hit, (2 if room > 50 else 3) * room - 4)),
    )
    return row


def _block(console: SafeConsole, hit: Hit) -> Iterator[RenderableType]:
    title, *rest = _description(hit, 2 * console.width)
    yield styled(f"{hit.rank}. ") + title
    bar = vitality_bar(hit.vitality, hit.zone, unicode=console.unicode)
    numbers = styled(f"score {hit.score:.2f}, relevance {hit.relevance:.2f}, {hit.layer}")
    lines = [numbers, Text(" ").join([bar, zone_text(hit.zone)]), *rest]
    yield Padding(Text("\n").join(lines), (0, 0, 0, 3))


def _description(hit: Hit, room: int) -> list[Text]:
    """The hit's name, its key or id, and the part of its text that shows why it was found."""
    lines = [styled((name_of(hit.title, hit.key, hit.id), "bold"))]
    if hit.title:
        lines.append(styled((hit.key or f"id {hit.id}", "cyan")))
    words, spans = snippet(hit.body, _words(hit), max(60, room))
    return [*lines, _marked(words, spans)] if words else lines


def _marked(text: str, spans: Sequence[tuple[int, int]]) -> Text:
    """The text with the spans in bold."""
    marked = styled(text)
    for begin, end in spans:
        marked.stylize("bold", begin, end)
    return marked


def _explanation(hit: Hit) -> Text:
    text = f"{hit.title} {hit.author or ''} {hit.body}"[:200_000]
    spelt = {lexeme: text[begin:end].lower() for begin, end, lexeme in reversed(matches(text, _words(hit)))}
    numbers = ((f"\n{name}: {value}", "dim") for name, value in terms(hit.explanation))
    return styled((sentence(hit.explanation, spelt), "italic"), *numbers)


def _words(hit: Hit) -> Mapping[str, float]:
    words: Mapping[str, float] = hit.explanation.get("arms", {}).get("lexical", {}).get("words", {})
    return words
