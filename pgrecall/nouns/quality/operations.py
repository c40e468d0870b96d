"""The quality of searches: use by rank, unanswered queries, misses, logged searches, and experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pgrecall.errors import InvalidInput
from pgrecall.nouns.conversion import read_as
from pgrecall.nouns.embedding import Embedded
from pgrecall.nouns.operation import Operation, Row, checked_limit, id_of, rows_of
from pgrecall.nouns.quality.models import (
    ENOUGH,
    Experiment,
    ExperimentArm,
    ExperimentDifference,
    LoggedSearch,
    Miss,
    Quality,
    RankUse,
    Share,
    UnansweredQuery,
    percent,
)
from pgrecall.nouns.search.models import SearchRequest
from pgrecall.nouns.search.operations import request_arguments, request_parameters


def quality(
    since: datetime | None, limit: int, unanswered: tuple[UnansweredQuery, ...]
) -> Operation[Quality]:
    """Counts how often the newest searches showed a memory that was then used."""
    return Operation(
        "SELECT recall.quality(%(since)s, %(limit)s) AS quality",
        {"since": since, "limit": checked_limit(limit, "100,000")},
        lambda rows: _quality(rows[0]["quality"], unanswered),
        repeatable=True,
    )


def unanswered_queries(limit: int, since: datetime | None) -> Operation[tuple[UnansweredQuery, ...]]:
    """Lists queries without an answer, most frequent first."""
    return rows_of("unanswered_queries", UnansweredQuery, limit=checked_limit(limit, "1,000"), since=since)


def logged_searches(
    since: datetime | None, until: datetime | None, limit: int
) -> Operation[tuple[LoggedSearch, ...]]:
    """Lists the newest logged searches of a period, oldest first."""
    return Operation(
        "SELECT * FROM recall.logged_searches(%(since)s, %(until)s, %(limit)s)",
        {"since": since, "until": until, "limit": checked_limit(limit, "1,000")},
        lambda rows: tuple(_logged(row) for row in rows),
        repeatable=True,
    )


def explain_miss(
    memory: int | str, request: SearchRequest, vectors: Sequence[Embedded] | None, skipped: Sequence[str]
) -> Operation[Miss]:
    """Explains why a search does not show a memory."""
    arguments = request_arguments()
    return Operation(
        f"SELECT recall.explain_miss({id_of(memory, 'memory')}, {arguments}, %(tokens)s::jsonb) AS miss",
        request_parameters(request, vectors) | {"memory": memory},
        lambda rows: _miss(rows[0]["miss"], tuple(skipped)),
        repeatable=True,
    )


def share_of(document: Mapping[str, Any], count: str, total: str) -> Share:
    """Reads a share and its interval from a JSON object."""
    return Share(document[count], document[total], document["low"], document["high"])


def _logged(row: Row) -> LoggedSearch:
    queries = row["queries"]
    return LoggedSearch(
        row["id"],
        row["at"],
        row["query"],
        None if queries is None else tuple(queries),
        row["profile"],
        tuple(row["shown"]),
        tuple(row["used"]),
        row["followed"],
    )


def _quality(document: Mapping[str, Any], unanswered: tuple[UnansweredQuery, ...]) -> Quality:
    answered = share_of(document["answered"], "count", "total")
    return Quality(
        document["searches"],
        document["empty"],
        document["followed"],
        answered,
        tuple(
            RankUse(rank["rank"], rank["shown"], rank["rejected"], share_of(rank, "used", "followed"))
            for rank in document["ranks"]
        ),
        unanswered,
        _moment(document["since"]),
        _moment(document["until"]),
        _conclusion(answered),
    )


def _conclusion(answered: Share) -> str:
    if answered.total < ENOUGH or answered.low is None or answered.high is None:
        return (
            f"Too little to conclude from: the outcome of {answered.total:,} "
            f"search{'' if answered.total == 1 else 'es'} is known, and {ENOUGH} are needed. Report which "
            "hits are used, as feedback or as accesses in the session of the search."
        )
    used = percent(answered.count / answered.total)
    return (
        f"Of {answered.total:,} searches with a known outcome, {used} showed a memory that was then used "
        f"(95 % interval {percent(answered.low)} to {percent(answered.high)})."
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _miss(document: Mapping[str, Any], skipped: tuple[str, ...]) -> Miss:
    names = ("memory", "outcome", "rank", "k", "candidates", "score", "last_score", "relevance", "confidence")
    return Miss(
        **{name: document[name] for name in names},
        sentence=_sentence(document),
        filters=tuple(document["filters"]),
        arms={arm: _known(seen) for arm, seen in document["arms"].items()},
        skipped=skipped,
    )


def _known(seen: Mapping[str, Any]) -> dict[str, Any]:
    """Removes empty values from the result of an arm."""
    return {name: value for name, value in seen.items() if value is not None}


def _sentence(miss: Mapping[str, Any]) -> str:
    """Describes the outcome in words."""
    rank, k = miss["rank"], miss["k"]
    match miss["outcome"]:
        case "found":
            return f"It is found at rank {rank}; the search shows {k}."
        case "filtered":
            found = "nothing finds it either way" if rank is None else f"it would rank {rank} without them"
            return f"Filters hide it: {', '.join(miss['filters'])}; {found}."
        case "ranked_lower":
            return (
                f"It is a candidate and ranks {rank}, but the search shows {k}. Its score is "
                f"{miss['score']:.2f}, that of the last one shown {miss['last_score']:.2f}."
            )
        case "too_irrelevant":
            return (
                f"It ranks {rank}, but its relevance is {miss['relevance']:.2f}, below min_relevance "
                f"{miss['min_relevance']:.2f}."
            )
        case "not_confident":
            return (
                f"It would rank {rank}, but probably nothing answers: the confidence is "
                f"{miss['confidence']:.2f}, below search.min_confidence {miss['min_confidence']:.2f}."
            )
        case "beyond_pool":
            return (
                f"Each way of searching keeps its best {miss['arms']['semantic']['limit']}, and it is "
                f"further down. It would rank {rank} if all were considered."
            )
    return f"Nothing finds it among the best 1,000: {_unseen(miss['arms'])}."


def _unseen(arms: Mapping[str, Any]) -> str:
    semantic, lexical = arms["semantic"], arms["lexical"]
    reason = semantic["reason"]
    meaning = (
        reason[:1].lower() + reason[1:].rstrip(".")
        if reason
        else "it is not near in meaning"
        if semantic["similarity"] is None
        else f"its similarity in meaning is {semantic['similarity']:.2f}"
    )
    words = f"it holds {_quoted(lexical['held'])}" if lexical["held"] else "it holds none of the words"
    return f"{meaning}, and {words}"


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"“{word}”" for word in words[:5]) + (" and others" if len(words) > 5 else "")


def experiment(number: int | None, difference: float) -> Operation[Experiment]:
    """Reports an experiment; ``difference`` is the smallest one worth knowing, 0.01 to 0.5."""
    if number is not None and (
        isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 10**6
    ):
        raise InvalidInput(
            f"The number of the experiment is {number!r:.50}; it must lie between 1 and 1,000,000."
        )
    return Operation(
        "SELECT recall.experiment(%(number)s, %(difference)s) AS experiment",
        {"number": number, "difference": difference},
        lambda rows: _read_experiment(rows[0]["experiment"]),
        repeatable=True,
    )


def _read_experiment(document: Mapping[str, Any]) -> Experiment:
    differences = tuple(read_as(ExperimentDifference, entry) for entry in document["differences"])
    return Experiment(
        number=document["number"],
        running=document["running"],
        arms=tuple(
            read_as(ExperimentArm, {**arm, "weights": tuple(arm["weights"])}) for arm in document["arms"]
        ),
        differences=differences,
        without_session=document["without_session"],
        not_assigned=document["not_assigned"],
        needed=document["needed"],
        missing=document["missing"],
        since=_moment(document["since"]),
        until=_moment(document["until"]),
        refused=document["refused"],
        conclusion=_experiment_conclusion(document, differences),
    )


def _experiment_conclusion(document: Mapping[str, Any], differences: tuple[ExperimentDifference, ...]) -> str:
    match document["refused"]:
        case "no_experiment" if document["number"] is not None:
            return f"No search of experiment {document['number']:,} is logged."
        case "no_experiment":
            return "There is no experiment. Set `search.experiment` to 1 to begin the first."
        case "too_few":
            return (
                f"Too little to conclude from: each arm needs {document['needed']:,} sessions, and "
                f"{document['missing']:,} more are to come in all."
            )
        case "no_use":
            return (
                "Nothing to conclude from: no session is known to have used anything. Report what is "
                "used (`used`, or accesses in the session of the search)."
            )
        case "unequal":
            counts = ", ".join(f"{arm['arm']} {arm['sessions']:,}" for arm in document["arms"])
            return (
                f"No conclusion: the arms have too different numbers of sessions ({counts}) for chance to "
                "have divided them. Begin a new experiment with another number."
            )
        case "weights_changed":
            return (
                "No conclusion: the weight of an arm was changed while the experiment ran. Begin a new one "
                "with another number."
            )
    return " ".join(_difference_sentence(one) for one in differences)


def _difference_sentence(one: ExperimentDifference) -> str:
    figures = f"{100 * one.difference:+.1f} points (interval {100 * one.low:+.1f} to {100 * one.high:+.1f})"
    if one.verdict == "no_difference":
        return f"`{one.arm}` is not distinguishable from `default`: {figures}."
    compared = "more" if one.verdict == "better" else "less"
    return f"With `{one.arm}`, what is shown is used {compared} often than with `default`: {figures}."
