"""An explanation in words: one sentence that says why a memory is where it is, and the numbers behind it.

Pure: it reads what ``recall.search`` returns as ``explanation`` and knows nothing else. Every part may be
absent; an arm or a term that is new is shown under its own name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

Part = Mapping[str, Any]

_ARMS = {
    "semantic": "meaning",
    "lexical": "words",
    "name": "name",
    "cue": "what was just used",
    "graph": "its links",
}
_WORTH_TELLING = 0.1
"""Log-odds that links must have lent to be named as a reason."""

_VITALITY_TERMS = ("recent", "tail", "spread", "revival")
_NO_RELEVANCE_TERM = ("logit", "probability")
_STEPS = {
    "phrase": "as a phrase",
    "prefix": "by how words begin",
    "similar": "by words spelt like them",
}


def sentence(explanation: Part, words: Mapping[str, str] | None = None) -> str:
    """Why this memory has its place, for somebody who has never read a formula.

    ``words`` tells stems as the memory spells them (``machin``: machine); others stay stems.

    >>> sentence({"arms": {"name": {"likeness": 1}}, "score": {"exempt": True}})
    'Found by its name; asked for by name, so its vitality does not count.'
    """
    relevance = explanation.get("relevance", {})
    clauses = [_found(_telling(explanation.get("arms", {}), relevance), words or {}), _answers(relevance)]
    clauses.append(_reread(explanation.get("rerank", {})))
    clauses.append(_weighed(explanation.get("vitality", {}), explanation.get("score", {})))
    told = "; ".join(clause for clause in clauses if clause)
    return f"{told[:1].upper()}{told[1:]}." if told else ""


def terms(explanation: Part) -> tuple[tuple[str, str], ...]:
    """Every number of an explanation as (what it is of, what it is), in the order they are applied."""
    rows = [
        (_ARMS.get(name, name), _arm_terms(name, arm)) for name, arm in explanation.get("arms", {}).items()
    ]
    if relevance := explanation.get("relevance"):
        rows.append(("relevance", _relevance_terms(relevance)))
    if reread := explanation.get("rerank"):
        rows.append(("reranker", _rerank_terms(reread)))
    if vitality := explanation.get("vitality"):
        rows.append(("vitality", activation_terms(vitality)))
    if score := explanation.get("score"):
        rows.append(("score", _score_terms(score)))
    return tuple(rows)


def activation_terms(vitality: Part) -> str:
    """S, B and vitality, with the terms that S is the sum of."""
    parts = [f"{name} {_number(vitality[name])}" for name in _VITALITY_TERMS if vitality.get(name)]
    uses = _counted(vitality.get("accesses", 0), "access", "accesses")
    return (
        f"S {_number(vitality.get('activation', 0))} = {' + '.join(parts) or '0'}, from "
        f"{uses}; B {_number(vitality.get('base', 0))}, "
        f"vitality {vitality.get('vitality', 0):.2f}, {vitality.get('zone', 'unknown')}"
    )


def _telling(arms: Mapping[str, Part], relevance: Part) -> Mapping[str, Part]:
    """The arms in the order people think of them, without links that lent hardly anything."""
    order = (*_ARMS, *(name for name in arms if name not in _ARMS))
    silent = "graph" if relevance.get("graph", _WORTH_TELLING) < _WORTH_TELLING else None
    return {name: arms[name] for name in order if name in arms and name != silent}


def _found(arms: Mapping[str, Part], spelt: Mapping[str, str]) -> str:
    ranked = ("semantic", "lexical")  # without a rank another arm found it
    ways = [_way(name, arm, spelt) for name, arm in arms.items() if name not in ranked or "rank" in arm]
    return f"found by {_listed(ways)}" if ways else ""


def _way(name: str, arm: Part, spelt: Mapping[str, str]) -> str:
    rank = f" (no. {arm['rank']})" if "rank" in arm else ""
    if name == "lexical":
        words = sorted(arm.get("words", {}).items(), key=lambda item: (-item[1], item[0]))
        told = _listed([f"“{spelt.get(word, word)}”" for word, _ in words[:4]])
        step = f" {_STEPS[arm['step']]}" if arm.get("step") in _STEPS else ""
        return f"{'its word' if len(words) == 1 else 'its words'} {told}".strip() + step + rank
    if name == "name":
        return "its name" if arm.get("likeness") == 1 else "a name like it"
    return f"{_ARMS.get(name, name)}{rank}"


def _answers(relevance: Part) -> str:
    if "probability" not in relevance:
        return ""
    return f"it answers the question with a probability of {relevance['probability']:.0%}"


def _reread(rerank: Part) -> str:
    if "probability" not in rerank:
        return ""
    moved = f"from no. {rerank['original_rank']} to no. {rerank['new_rank']}"
    return f"read beside the question it moved {moved}, with a probability of {rerank['probability']:.0%}"


def _rerank_terms(rerank: Part) -> str:
    return (
        f"{rerank.get('reranker', 'reranker')} gave {_number(rerank.get('score', 0))}; no. "
        f"{rerank.get('original_rank')} became no. {rerank.get('new_rank')}; with the fused relevance "
        f"log-odds {_number(rerank.get('logit', 0))}, p = {rerank.get('probability', 0):.3f}"
    )


def _weighed(vitality: Part, score: Part) -> str:
    if score.get("exempt"):
        return "asked for by name, so its vitality does not count"
    if score.get("mode") == "off":
        return "its vitality was left out"
    change = score.get("vitality")
    if change is None or not vitality:
        return ""
    used = f"{_counted(vitality.get('accesses', 0), 'use', 'uses')} left it {_state(vitality)}"
    if abs(change) < 0.05:
        return f"{used}, which hardly changes its odds"
    return f"{used}, which multiplies its odds by {_number(math.exp(min(change, 50.0)))}"


def _state(vitality: Part) -> str:
    zone, value = vitality.get("zone", "unrated"), vitality.get("vitality", 0.0)
    if vitality.get("retention", value) > value:  # the floor holds the zone up; ranking ignores it
        return f"at a vitality of {value:.2f} ({zone}, since it is protected)"
    return str(zone)


def _arm_terms(name: str, arm: Part) -> str:
    told = [f"rank {arm['rank']}" if "rank" in arm else ""]
    if name == "lexical":
        told = [
            f"strength {_number(arm.get('strength', 0))}",
            f"coverage {_number(arm.get('coverage') or 0)}",
            *told,
            ", ".join(f"{word} {_number(idf)}" for word, idf in arm.get("words", {}).items()),
        ]
    else:
        raw = [(term, value) for term, value in arm.items() if term != "rank" and _is_number(value)]
        if name == "semantic" and not told[0]:
            told = ["beyond the nearest"]
        told = [*(f"{term} {_number(value)}" for term, value in raw), *told]
    return "; ".join(part for part in told if part)


def _relevance_terms(relevance: Part) -> str:
    parts = [
        (name, value)
        for name, value in relevance.items()
        if name not in _NO_RELEVANCE_TERM and _is_number(value) and value
    ]
    parts.sort(key=lambda part: part[0] != "intercept")
    return (
        f"log-odds {_number(relevance.get('logit', 0))} = {_sum(parts)}; "
        f"p = {relevance.get('probability', 0):.3f}"
    )


def _score_terms(score: Part) -> str:
    log_odds, change = score.get("log_odds", 0.0), score.get("vitality", 0.0)
    manner = "exempt: named exactly" if score.get("exempt") else f"mode {score.get('mode', 'unknown')}"
    if "weight" in score and not score.get("exempt") and score.get("mode") in ("odds", "bounded"):
        manner += f", weight {_number(score['weight'])}"
    held = score.get("held_back") or 0.0
    total = _sum([("relevance", log_odds - change - held), ("vitality", change)])
    if held:
        total += f" − {_number(-held)} behind what supersedes it"
    return f"log-odds {_number(log_odds)} = {total} ({manner}); score = {_logistic(log_odds):.3f}"


def _sum(parts: Sequence[tuple[str, float]]) -> str:
    told = ""
    for name, value in parts:
        sign = (" − " if value < 0 else " + ") if told else ("−" if value < 0 else "")
        told += f"{sign}{_number(abs(value))} {name}"
    return told or "0"


def _number(value: float) -> str:
    """Three digits, a true minus, no exponent for what people meet."""
    size = abs(value)
    if size >= 1_000_000 or 0 < size < 0.0001:
        text = f"{size:.2g}"
    else:
        text = f"{size:.0f}" if size >= 100 or size == 0 else f"{size:.3g}"
    return f"−{text}" if value < 0 else text


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-500.0, min(500.0, log_odds))))


def _listed(items: Sequence[str]) -> str:
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
