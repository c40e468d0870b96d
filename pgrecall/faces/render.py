"""Search results on a terminal: a table, or where that is too narrow one block a hit."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pgrecall.faces.snippets import matches, printable, snippet
from pgrecall.models import Hit, SearchResult
from pgrecall.search.explain import sentence, terms

ZONE_STYLES = {"active": "green", "stale": "yellow", "fading": "dark_orange", "archived": "bright_black"}
NARROW = 72
_WIDTHS = {"#": 3, "score": 5, "relevance": 9, "vitality": 13, "layer": 9}
_BAR = 8
_EIGHTHS = " ▏▎▍▌▋▊▉"


def show_hits(console: Console, result: SearchResult, *, explain: bool) -> None:
    """Hits, best first, as wide as the terminal is."""
    if explain and result.names:
        console.print(f"Names taken out of the question's meaning: {printable(', '.join(result.names))}.")
    wide = console.width >= NARROW
    for hit in result.hits:
        console.print(_row(console, hit) if wide else _block(console, hit))
        if explain and hit.explanation:
            console.print(Padding(_explained(hit), (0, 0, 0, 4)))
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
    return Text.assemble((bar, ZONE_STYLES.get(zone, "")), f" {vitality:.2f}")


def name_of(title: str, key: str | None, number: int) -> str:
    """What a memory is called: its title, else its key, else its id."""
    return " ".join(printable(title or key or f"memory {number}").split())


def _row(console: Console, hit: Hit) -> Table:
    """One row of the table; each hit is a table of the same widths, so that text can stand between them."""
    room = console.width - sum(_WIDTHS.values()) - 2 * len(_WIDTHS)
    table = Table(
        box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold", show_header=hit.rank == 1
    )
    for name, width in _WIDTHS.items():
        table.add_column(name, width=width, justify="left" if name in ("vitality", "layer") else "right")
    table.add_column("memory", width=room, overflow="fold")
    vitality = _vitality(console, hit)
    vitality.append(f"\n{hit.zone}", style=ZONE_STYLES.get(hit.zone, ""))
    numbers = (str(hit.rank), f"{hit.score:.2f}", f"{hit.relevance:.2f}")
    table.add_row(
        *numbers, vitality, printable(hit.layer), Group(*_told(hit, (2 if room > 50 else 3) * room - 4))
    )
    return table


def _block(console: Console, hit: Hit) -> RenderableType:
    numbers = Text(f"score {hit.score:.2f}, relevance {hit.relevance:.2f}, {printable(hit.layer)}\n")
    numbers.append_text(_vitality(console, hit)).append(f" {hit.zone}", style=ZONE_STYLES.get(hit.zone, ""))
    title, *rest = _told(hit, 2 * console.width)
    return Group(Text.assemble(f"{hit.rank}. ", title), Padding(Group(numbers, *rest), (0, 0, 0, 3)))


def _told(hit: Hit, room: int) -> list[Text]:
    shown = [Text(name_of(hit.title, hit.key, hit.id), style="bold")]
    if hit.title:
        shown.append(Text(printable(hit.key) if hit.key else f"id {hit.id}", style="cyan"))
    words, spans = snippet(hit.body, _words(hit), max(60, room))
    body = Text(words)
    for begin, end in spans:
        body.stylize("bold", begin, end)
    return [*shown, body]


def _explained(hit: Hit) -> Text:
    text = f"{hit.title} {hit.author or ''} {hit.body}"[:200_000]
    spelt = {lexeme: text[begin:end].lower() for begin, end, lexeme in reversed(matches(text, _words(hit)))}
    told = Text(printable(sentence(hit.explanation, spelt)), style="italic")
    for what, said in terms(hit.explanation):
        told.append(f"\n{what}: {printable(said)}", style="not italic dim")
    return told


def _words(hit: Hit) -> Mapping[str, float]:
    words: Mapping[str, float] = hit.explanation.get("arms", {}).get("lexical", {}).get("words", {})
    return words


def _vitality(console: Console, hit: Hit) -> Text:
    return vitality_bar(hit.vitality, hit.zone, unicode=console.encoding.lower().startswith("utf"))
