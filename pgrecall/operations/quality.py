"""The quality of searches: use by rank, unanswered queries, misses, and logged searches to ask again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pgrecall.errors import InvalidInput
from pgrecall.models.embedding import Embedded
from pgrecall.models.quality import (
    ENOUGH,
    LoggedSearch,
    Miss,
    Quality,
    RankUse,
    Share,
    UnansweredQuery,
    percent,
)
from pgrecall.models.reading import read_as
from pgrecall.models.search import SearchRequest
from pgrecall.operations.operation import Operation, Row, id_of
from pgrecall.operations.search import request_arguments, request_parameters

_LARGEST_INTEGER = 2**31 - 1


def quality(
    since: datetime | None, limit: int, unanswered: tuple[UnansweredQuery, ...]
) -> Operation[Quality]:
    """Counts how often what the newest searches showed was used."""
    return Operation(
        "SELECT recall.quality(%(since)s, %(limit)s) AS quality",
        {"since": since, "limit": _integer(limit, "100,000")},
        lambda rows: _quality(rows[0]["quality"], unanswered),
        repeatable=True,
    )


def unanswered_queries(limit: int, since: datetime | None) -> Operation[tuple[UnansweredQuery, ...]]:
    """Lists queries that nothing answered, the most frequent first."""
    return Operation(
        "SELECT * FROM recall.unanswered_queries(%(limit)s, %(since)s)",
        {"limit": _integer(limit, "1,000"), "since": since},
        lambda rows: tuple(read_as(UnansweredQuery, row) for row in rows),
        repeatable=True,
    )


def logged_searches(
    since: datetime | None, until: datetime | None, limit: int
) -> Operation[tuple[LoggedSearch, ...]]:
    """Lists the newest logged searches of a period, oldest first."""
    return Operation(
        "SELECT * FROM recall.logged_searches(%(since)s, %(until)s, %(limit)s)",
        {"since": since, "until": until, "limit": _integer(limit, "1,000")},
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
    """A share and its interval in a JSON object."""
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
    """What an arm saw, without what it did not."""
    return {name: value for name, value in seen.items() if value is not None}


def _sentence(miss: Mapping[str, Any]) -> str:
    """The outcome in words."""
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


def _integer(limit: int, most: str) -> int:
    if (
        isinstance(limit, bool)
        or not isinstance(limit, int)
        or not -_LARGEST_INTEGER <= limit <= _LARGEST_INTEGER
    ):
        raise InvalidInput(f"The limit is {limit!r:.50}; it must lie between 1 and {most}.")
    return limit
