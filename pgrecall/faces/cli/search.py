"""The command search."""

from __future__ import annotations

from typing import Annotated, get_args

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.base import DONE, NOTHING_FOUND, AsJson, globals_of, notes, output
from pgrecall.faces.cli.command_line import Argument, Context, Exit, Option
from pgrecall.faces.cli.filters import NONE, Filters, InvalidToo, LeastRelevance, Many
from pgrecall.faces.cli.values import clock, parse_moment, parse_reference, question, text, texts
from pgrecall.models.search import SearchResult, VitalityMode

LARGEST_K = 1000

_MODES: tuple[VitalityMode, ...] = get_args(VitalityMode)


def search(
    context: Context,
    query: Annotated[
        str, Argument(help="The question; - reads it from standard input. A time window needs none.")
    ] = "",
    also: Annotated[
        Many, Option("--query", "-q", help="A sub-query, asked at the same time; may be repeated.")
    ] = None,
    hint: Annotated[Many, Option(help="A term that must occur; may be repeated.")] = None,
    cue: Annotated[
        Many, Option(help="A memory (id or key) whose associates come to mind; may be repeated.")
    ] = None,
    k: Annotated[int, Option("-k", help="At most so many, 1 to 1000.")] = 10,
    filters: Filters = NONE,
    include_superseded: Annotated[
        bool, Option("--include-superseded", help="Also what a newer memory replaces.")
    ] = False,
    include_invalid: InvalidToo = False,
    min_relevance: LeastRelevance = 0.0,
    vitality_weight: Annotated[
        float | None, Option(help="How much use counts; without it the database's setting, 0.5.")
    ] = None,
    vitality_mode: Annotated[
        str | None, Option(help="odds, multiply, bounded or off; without it the profile's.")
    ] = None,
    profile: Annotated[
        str | None, Option(help="balanced, identity, knowledge, episodic, activity, seed or rrf.")
    ] = None,
    weight: Annotated[
        Many, Option(metavar="ARM=N", help="How much an arm counts, 0 to 10; may be repeated.")
    ] = None,
    rerank: Annotated[
        bool, Option("--rerank", help="Have the configured reranker read the best candidates.")
    ] = False,
    deadline: Annotated[
        float | None, Option(help="Seconds the reranker may take; what it read by then counts.")
    ] = None,
    explain: Annotated[bool, Option("--explain", help="Say why each is where it is.")] = False,
    as_json: AsJson = False,
    now: Annotated[str | None, Option(help="Ask how it would rank at this moment.")] = None,
    as_of: Annotated[
        str | None, Option(help="Ask what was known at this past moment, ranked as it was then.")
    ] = None,
    session: Annotated[str | None, Option(help="The session in which the answers are shown.")] = None,
    no_log: Annotated[bool, Option("--no-log", help="Do not count what is shown.")] = False,
) -> None:
    """Ask a question: by meaning, words and names, weighed by how alive each memory is."""
    if not 1 <= k <= LARGEST_K:
        raise InvalidInput(f"k is {k}; it must lie between 1 and {LARGEST_K:,}.")
    asked, moment = question(query) if query else "", parse_moment(now, "--now")
    narrowed = filters.read(moment or clock())
    with globals_of(context).opened(embeds=True) as memory:
        result = memory.search(
            asked,
            k=k,
            **narrowed,
            include_superseded=include_superseded,
            include_invalid=include_invalid,
            min_relevance=min_relevance,
            vitality_weight=vitality_weight,
            vitality_mode=None if vitality_mode is None else _mode(vitality_mode),
            now=moment,
            queries=texts(also, "--query"),
            hints=texts(hint, "--hint"),
            cues=None if cue is None else tuple(parse_reference(one) for one in cue),
            as_of=parse_moment(as_of, "--as-of"),
            profile=None if profile is None else text(profile, "--profile"),
            weights=None if weight is None else _weights(weight),
            rerank=rerank,
            deadline=deadline,
            session_id=None if session is None else text(session, "--session"),
            log=not no_log,
        )
    if as_json:
        from pgrecall.faces.cli.json_output import search_document, to_text

        output().out(to_text(search_document(asked, result)))
    else:
        _show(result, explain)
    raise Exit(DONE if result.hits else NOTHING_FOUND)


def _show(result: SearchResult, explain: bool) -> None:
    for step in result.skipped:
        notes().print(f"Skipped: {step}")
    if result.hits:
        from pgrecall.faces.cli.rendering.search import show_hits

        show_hits(output(), result, explain=explain)
        if explain:
            notes().print(_times(result))
    else:
        notes().print("Nothing was found.")
        if any(result.arms.values()):
            told = ", ".join(f"{arm} {count}" for arm, count in result.arms.items() if count)
            notes().print(f"Candidates that were not relevant enough: {told}.")


def _times(result: SearchResult) -> str:
    told = ", ".join(f"{phase} {spent:.1f}" for phase, spent in result.timings.items())
    return f"Milliseconds: {told}."


def _weights(given: list[str]) -> dict[str, float]:
    """The weights of arms, given as ``ARM=N``."""
    weights: dict[str, float] = {}
    for one in given:
        arm, _, number = text(one, "--weight").partition("=")
        try:
            weights[arm.strip()] = float(number)
        except ValueError:
            raise InvalidInput(
                f"--weight {one!r} is not an arm and a number.", hint="Give --weight lexical=0.5."
            ) from None
    return weights


def _mode(given: str) -> VitalityMode:
    for mode in _MODES:
        if given == mode:
            return mode
    raise InvalidInput(f"There is no vitality mode {given!r}.", hint=f"Use one of {', '.join(_MODES)}.")
