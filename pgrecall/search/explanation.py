"""The explanation of a hit in words: why a memory has its rank. Its numbers are in `explained_numbers`.

Reads only what ``recall.search`` returns as ``explanation``. Every part may be absent. An unknown arm or
term is shown under its own name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pgrecall.nouns.quality.models import percent
from pgrecall.search.explained_numbers import ARMS, Part, accesses_words, number
from pgrecall.search.projects import other_project

_MIN_GRAPH_LOG_ODDS = 0.1
"""Minimum contribution of links, in log-odds, to be named as a reason."""

_MIN_ADDED = 0.1
"""Minimum log-odds that a directive, a speaker or a time adds, to be named as a reason."""

_MIN_NEAR = 0.1
"""Minimum match with a period to be called near it."""

_REFERENCES = (("cue", "cue"), ("graph", "from"), ("question", "answers"))
"""The arms that reach a memory by way of another, and where that one is named."""
_STEPS = {
    "prefix": "as the beginning of words",
    "similar": "in a similar spelling",
}


def sentence(
    explanation: Part, words: Mapping[str, str] | None = None, names: Mapping[int, str] | None = None
) -> str:
    """Explains the rank of a memory in plain words.

    Args:
        explanation: the ``explanation`` of a hit.
        words: the spelling of each stem (``machin``: machine); other stems are shown as such.
        names: the names of other memories by id; others are shown by their ids.

    >>> sentence({"arms": {"name": {"likeness": 1}}, "score": {"exempt": True}})
    'Found by its name. The query names it exactly, so vitality does not count.'
    """
    relevance = explanation.get("relevance", {})
    sentences = (
        _found(_contributing_arms(explanation.get("arms", {}), relevance), words or {}, names or {}),
        _answers(relevance),
        _period(explanation.get("period", {}), relevance),
        *_applies(explanation),
        _reranked(explanation.get("rerank", {})),
        other_project(explanation.get("project", {})),
        _weighted(explanation.get("vitality", {}), explanation.get("score", {})),
        _moved(explanation),
    )
    return " ".join(f"{each}." for each in sentences if each)


def reason(
    explanation: Part, words: Mapping[str, str] | None = None, names: Mapping[int, str] | None = None
) -> str:
    """Explains the rank of a memory in one line without technical terms.

    Args:
        explanation: the ``explanation`` of a hit.
        words: the spelling of each stem; other stems are shown as such.
        names: the names of other memories by id; others are shown by their ids.

    >>> reason({"arms": {"semantic": {"rank": 1}}, "score": {"mode": "odds", "vitality": 0.7}})
    'Found by meaning. Use raises it.'
    """
    arms = _contributing_arms(explanation.get("arms", {}), explanation.get("relevance", {}))
    unranked = {
        name: {term: value for term, value in arm.items() if term != "rank"} for name, arm in arms.items()
    }
    ways = [
        _way(name, unranked[name], words or {}, names or {})
        for name, arm in arms.items()
        if name not in ("semantic", "lexical") or "rank" in arm
    ]
    sentences = (
        f"Found by {_listed(ways)}" if ways else "",
        *_applies(explanation),
        _moved(explanation) or _moved_by_use(explanation.get("score", {})),
    )
    return " ".join(f"{each}." for each in sentences if each)


def _applies(explanation: Part) -> tuple[str, ...]:
    """Says why a memory counts that need not resemble the query: a directive, or what somebody said."""
    relevance = explanation.get("relevance", {})
    directive = relevance.get("directive", 0) >= _MIN_ADDED
    act = explanation.get("speech_act") or "directive"
    return (
        f"It is {'an' if act[0] in 'aeiou' else 'a'} {act}, so it need not resemble the query"
        if directive
        else "",
        "The query asks what its speaker said" if relevance.get("speaker", 0) >= _MIN_ADDED else "",
    )


def _moved(explanation: Part) -> str:
    """Says which other memory a hit goes before or behind, whatever its own relevance and use."""
    moved = explanation.get("score", {}).get("moved") or 0.0
    if abs(moved) < _MIN_ADDED:
        return ""
    if moved < 0:
        return "It stands behind the memory that supersedes it"
    if explanation.get("speech_act") == "change":
        return "It tells of a change, so it goes before what changed"
    return "Its date puts it before another version"


def _moved_by_use(score: Part) -> str:
    """Describes the effect of use on a score, unless it is negligible."""
    change = score.get("vitality") or 0.0
    if score.get("exempt") or score.get("mode") == "off" or abs(change) < 0.05:
        return ""
    return "Use raises it" if change > 0 else "Little use lowers it"


def referenced(explanation: Part) -> tuple[int, ...]:
    """The ids of other memories that an explanation names."""
    arms = explanation.get("arms", {})
    return tuple(arms[arm][name] for arm, name in _REFERENCES if name in arms.get(arm, {}))


def _contributing_arms(arms: Mapping[str, Part], relevance: Part) -> Mapping[str, Part]:
    """The arms in the order of ``ARMS``, without links that contributed almost nothing."""
    order = (*ARMS, *(name for name in arms if name not in ARMS))
    omitted = "graph" if relevance.get("graph", _MIN_GRAPH_LOG_ODDS) < _MIN_GRAPH_LOG_ODDS else None
    return {name: arms[name] for name in order if name in arms and name != omitted}


def _found(arms: Mapping[str, Part], spellings: Mapping[str, str], names: Mapping[int, str]) -> str:
    ranked = ("semantic", "lexical")  # without a rank, another arm found it
    found = {name: arm for name, arm in arms.items() if name not in ranked or "rank" in arm}
    ways = [_way(name, arm, spellings, names) for name, arm in found.items()]
    return f"Found by {_listed(ways)}" if ways else ""


def _way(name: str, arm: Part, spellings: Mapping[str, str], names: Mapping[int, str]) -> str:
    rank = f" (rank {arm['rank']})" if "rank" in arm else ""
    if name == "lexical":
        words = sorted(arm.get("words", {}).items(), key=lambda item: (-item[1], item[0]))
        quoted = _listed([f"“{spellings.get(word, word)}”" for word, _ in words[:4]])
        step = f" {_STEPS[arm['step']]}" if arm.get("step") in _STEPS else ""
        return f"the {'word' if len(words) == 1 else 'words'} {quoted}".strip() + step + rank
    if name == "name":
        return "its name" if arm.get("likeness") == 1 else "a similar name"
    if name == "cue" and "cue" in arm:
        return f"its association with {_other(arm['cue'], names)}"
    if name == "graph" and "from" in arm:
        return f"its links to {_other(arm['from'], names)}"
    if name == "question" and "answers" in arm:
        return f"its answer to {_other(arm['answers'], names)}"
    return f"{ARMS.get(name, name)}{rank}"


def _other(memory: int, names: Mapping[int, str]) -> str:
    return f"“{names[memory]}”" if memory in names else f"memory {memory}"


def _answers(relevance: Part) -> str:
    if "probability" not in relevance:
        return ""
    return f"It answers the question with a probability of {percent(relevance['probability'])}"


def _period(period: Part, relevance: Part) -> str:
    """Describes the period that the query names, and whether the memory is from it."""
    if "words" not in period:
        return ""
    days = [f"{side} {period[side][:10]}" for side in ("since", "until") if period.get(side)]
    matches = relevance.get("features", {}).get("period", 0)
    place = "from it" if matches == 1 else "from about then" if matches >= _MIN_NEAR else "not from it"
    return f"The query names the period “{period['words']}” ({', '.join(days)}); the memory is {place}"


def _reranked(rerank: Part) -> str:
    if "probability" not in rerank:
        return ""
    moved = f"from rank {rerank['original_rank']} to rank {rerank['new_rank']}"
    return f"The reranker moved it {moved}, with a probability of {percent(rerank['probability'])}"


def _weighted(vitality: Part, score: Part) -> str:
    if score.get("exempt"):
        return "The query names it exactly, so vitality does not count"
    if score.get("mode") == "off":
        return "Vitality does not count in this search"
    change = score.get("vitality")
    if change is None or not vitality:
        return ""
    state = f"After {accesses_words(vitality.get('accesses', 0))} {_state(vitality)}"
    if abs(change) < 0.05:
        return f"{state}; vitality hardly changes its odds"
    return f"{state}; vitality multiplies its odds by {number(math.exp(min(change, 50.0)))}"


def _state(vitality: Part) -> str:
    zone, value = vitality.get("zone", "unrated"), vitality.get("vitality", 0.0)
    if vitality.get("retention", value) > value:  # the floor holds the zone up; ranking ignores it
        return f"its vitality is {value:.2f} ({zone}, because it is protected)"
    return f"it is {zone}"


def _listed(items: Sequence[str]) -> str:
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)
