"""The command search: its result as a table, or as blocks where the terminal is too narrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import click
from click.exceptions import Exit
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pgrecall.faces.cli.invocation import DONE, NOTHING_FOUND, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import (
    MOMENT,
    REFERENCE,
    TEXT,
    conversation_option,
    filter_options,
    json_option,
    min_relevance_option,
    no_log_option,
    now_option,
    plan_option,
    read_arm_weights,
    read_query,
    read_search_options,
    rerank_option,
    session_option,
)
from pgrecall.faces.cli.project_options import project_options
from pgrecall.faces.cli.rendering.console import (
    SafeConsole,
    notes,
    output,
    plain,
    print_json,
    styled,
    vitality_bar,
    zone_text,
)
from pgrecall.faces.other_memories import names_of_others
from pgrecall.faces.snippets import explanation_sentence, matched_words, shown_text, snippet
from pgrecall.faces.wording import name_of
from pgrecall.nouns.search.models import Hit, SearchResult, VitalityMode
from pgrecall.search.explained_numbers import terms

NARROW = 72
_WIDTHS = {"#": 3, "score": 5, "relevance": 9, "vitality": 13, "layer": 9}
_NUMBERS = ("#", "score", "relevance")


@click.command("search")
@click.argument("query", default="", help="Query; - reads it from standard input. Optional with --since.")
@click.option(
    "--query",
    "-q",
    "queries",
    type=TEXT,
    multiple=True,
    help="Further query, searched at the same time; may be repeated.",
)
@click.option(
    "--cue",
    "cues",
    type=REFERENCE,
    multiple=True,
    help="Memory (id or key) that the conversation is about; may be repeated.",
)
@click.option("-k", type=click.IntRange(1, 1000), default=10, metavar="N", help="Maximum number of hits.")
@filter_options
@min_relevance_option
@click.option("--require-answer", is_flag=True, help="Show nothing if probably no memory answers.")
@click.option("--vitality-weight", type=float, help="Weight of vitality; by default the setting's, 0.5.")
@click.option(
    "--vitality-mode",
    type=click.Choice(get_args(VitalityMode)),
    help="How vitality changes the score; by default the profile decides.",
)
@click.option(
    "--profile", type=TEXT, help="Profile: balanced, identity, knowledge, episodic, activity, seed or rrf."
)
@click.option(
    "--weight",
    "weights",
    type=TEXT,
    multiple=True,
    metavar="ARM=N",
    help="Weight of an arm, 0 to 10; may be repeated.",
)
@rerank_option
@click.option("--deadline", type=float, help="Seconds for the reranker; only scores ready by then count.")
@click.option("--explain", is_flag=True, help="Explain the rank of each hit.")
@json_option
@now_option
@click.option("--as-of", type=MOMENT, help="Search what was known at a past time, as it was then.")
@conversation_option
@plan_option
@project_options
@session_option
@no_log_option
@pass_globals
def search(
    given: GlobalOptions,
    /,
    query: str,
    weights: tuple[str, ...],
    explain: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Search by meaning, words, names and links, weighted by the vitality of each memory."""
    asked, arms = read_query(query), read_arm_weights(weights)
    arguments = read_search_options(options)
    with given.opened(embeds=True) as memory:
        result = memory.search(asked, weights=arms or None, **arguments)
        names = names_of_others(memory, result.hits) if explain and not as_json else None
    if as_json:
        print_json(search_document(asked, result))
    else:
        _show(asked, result, names)
    raise Exit(DONE if result.hits else NOTHING_FOUND)


def search_document(query: str, result: SearchResult) -> dict[str, Any]:
    """The result of a search as JSON; its keys are part of the command line's interface."""
    return {
        "query": query,
        "no_match": result.no_match,
        "confidence": result.confidence,
        "answered": result.answered,
        "hits": plain(result.hits),
        "search_id": result.search_id,
        "reranked": result.reranked,
        "arms": plain(result.arms),
        "names": list(result.names),
        "skipped": list(result.skipped),
        "timings": plain(result.timings),
        "staleness": result.staleness,
        "needs_context": result.needs_context,
        "completed_query": result.completed_query,
        "plan": plain(result.plan),
        "model_use": plain(result.model_use),
    }


def _show(query: str, result: SearchResult, names: Mapping[int, str] | None) -> None:
    """Prints hits; with the names of other memories, explained."""
    explain = names is not None
    _show_steps(result, explain=explain)
    if result.hits:
        if not result.answered:
            notes().print("No memory answers this well; nearest:")
        if explain and result.staleness is not None:
            notes().print(f"A replica answered; it lacks at most {result.staleness:.1f} s of changes.")
        show_hits(output(), query, result, names)
        if explain:
            timings = ", ".join(f"{phase} {spent:.1f}" for phase, spent in result.timings.items())
            notes().print(f"Milliseconds: {timings}.")
        return
    notes().print("Nothing was found.")
    if any(result.arms.values()):
        counts = ", ".join(f"{arm} {count}" for arm, count in result.arms.items() if count)
        notes().print(f"Candidates that were not relevant enough: {counts}.")


def _show_steps(result: SearchResult, *, explain: bool) -> None:
    """Notes what was done with the query, or left out."""
    for step in result.skipped:
        notes().print(f"Skipped: {step}")
    if result.needs_context:
        notes().print(
            "The query makes sense only with its conversation: give the last turns by --conversation."
        )
    if explain and result.completed_query is not None:
        notes().print(f"Searched instead: {result.completed_query}")
    if result.plan is not None:
        notes().print(f"Planned: {result.plan}.")
    if explain and result.model_use is not None:
        notes().print(f"Language model: {result.model_use}.")


def show_hits(
    console: SafeConsole, query: str, result: SearchResult, names: Mapping[int, str] | None
) -> None:
    """Hits, best first, as wide as the terminal is; explained if ``names`` has those of other memories."""
    if names is not None and result.names:
        left_out = f"Names left out of the search by meaning: {', '.join(result.names)}."
        console.print(left_out, soft_wrap=False)
    wide = console.width >= NARROW
    # The columns of all hits have the same widths; explanations stand between them, as wide as the terminal.
    rank = max([_WIDTHS["#"], *(len(str(hit.rank)) for hit in result.hits)])
    for place, hit in enumerate(result.hits):
        rows = [_row(console, hit, rank, header=not place)] if wide else _block(console, hit)
        for row in rows:
            console.print(row, soft_wrap=False)
        if names is not None and hit.explanation:
            console.print(Padding(_explanation(query, hit, names), (0, 0, 0, 4)), soft_wrap=False)
        console.print()


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
    if hit.tenant is not None:
        lines.append(styled((f"shared by {hit.tenant}", "cyan")))
    words, spans = snippet(shown_text(hit), matched_words(hit), max(60, room))
    return [*lines, _marked(words, spans)] if words else lines


def _marked(text: str, spans: Sequence[tuple[int, int]]) -> Text:
    """The text with the spans in bold."""
    marked = styled(text)
    for begin, end in spans:
        marked.stylize("bold", begin, end)
    return marked


def _explanation(query: str, hit: Hit, names: Mapping[int, str]) -> Text:
    numbers = ((f"\n{name}: {value}", "dim") for name, value in terms(hit.explanation))
    return styled((explanation_sentence(hit, query, names), "italic"), *numbers)
