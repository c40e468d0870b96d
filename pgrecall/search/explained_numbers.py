"""The numbers of an explanation, in the order of computation.

Reads only what ``recall.search`` returns as ``explanation``. Every part may be absent. An unknown arm or
term is shown under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pgrecall.search.probabilities import logistic

Part = Mapping[str, Any]

ARMS = {
    "semantic": "meaning",
    "lexical": "words",
    "name": "name",
    "cue": "association",
    "graph": "links",
    "question": "question",
}
_VITALITY_TERMS = ("recent", "tail", "spread", "revival")
_WEIGHED = ("odds", "unbounded", "bounded")
"""The modes that have a weight."""
_NO_RELEVANCE_TERM = ("logit", "probability")


def terms(explanation: Part) -> tuple[tuple[str, str], ...]:
    """Returns every number of an explanation, as pairs of heading and text, in the order of computation."""
    rows = [
        (ARMS.get(name, name), _arm_terms(name, arm)) for name, arm in explanation.get("arms", {}).items()
    ]
    if relevance := explanation.get("relevance"):
        rows.append(("relevance", _relevance_terms(relevance)))
    if rerank := explanation.get("rerank"):
        rows.append(("reranker", _rerank_terms(rerank)))
    if project := explanation.get("project"):
        rows.append(("project", f"{project['name']}; log-odds {number(project['log_odds'])}"))
    if vitality := explanation.get("vitality"):
        rows.append(("vitality", activation_terms(vitality)))
    if score := explanation.get("score"):
        rows.append(("score", _score_terms(score)))
    return tuple(rows)


def activation_terms(vitality: Part) -> str:
    """S with its terms, B and vitality."""
    parts = [f"{name} {number(vitality[name])}" for name in _VITALITY_TERMS if vitality.get(name)]
    accesses = accesses_words(vitality.get("accesses", 0))
    return (
        f"S {number(vitality.get('activation', 0))} = {' + '.join(parts) or '0'}, from "
        f"{accesses}; B {number(vitality.get('base', 0))}, "
        f"vitality {vitality.get('vitality', 0):.2f}, {vitality.get('zone', 'unknown')}"
    )


def _arm_terms(name: str, arm: Part) -> str:
    rank = f"rank {arm['rank']}" if "rank" in arm else ""
    if name == "lexical":
        texts = [
            f"strength {number(arm.get('strength', 0))}",
            f"coverage {number(arm.get('coverage') or 0)}",
            rank,
            ", ".join(f"{word} {number(idf)}" for word, idf in arm.get("words", {}).items()),
        ]
    elif name == "graph" and "from" in arm:
        texts = [f"receives {number(arm.get('share', 0))} of the relevance of memory {arm['from']}"]
    elif name == "cue" and "cue" in arm:
        texts = [f"associated with memory {arm['cue']}; strength {number(arm.get('strength', 0))}"]
    else:
        raw = [(term, value) for term, value in arm.items() if term != "rank" and _is_number(value)]
        if name == "semantic" and not rank:
            rank = "not among the nearest"
        texts = [*(f"{term} {number(value)}" for term, value in raw), rank]
    return "; ".join(text for text in texts if text)


def _relevance_terms(relevance: Part) -> str:
    parts = [
        (name, value)
        for name, value in relevance.items()
        if name not in _NO_RELEVANCE_TERM and _is_number(value) and value
    ]
    parts.sort(key=lambda part: part[0] != "intercept")
    return (
        f"log-odds {number(relevance.get('logit', 0))} = {_sum(parts)}; "
        f"p = {relevance.get('probability', 0):.3f}"
    )


def _rerank_terms(rerank: Part) -> str:
    return (
        f"{rerank.get('reranker', 'reranker')} score {number(rerank.get('score', 0))}; rank "
        f"{rerank.get('original_rank')} became rank {rerank.get('new_rank')}; with the fused relevance "
        f"log-odds {number(rerank.get('logit', 0))}, p = {rerank.get('probability', 0):.3f}"
    )


def _score_terms(score: Part) -> str:
    log_odds, change = score.get("log_odds", 0.0), score.get("vitality", 0.0)
    mode = "exempt: named exactly" if score.get("exempt") else f"mode {score.get('mode', 'unknown')}"
    if "weight" in score and not score.get("exempt") and score.get("mode") in _WEIGHED:
        mode += f", weight {number(score['weight'])}"
    moved = score.get("moved") or 0.0
    total = _sum([("relevance", log_odds - change - moved), ("vitality", change)])
    if moved < 0:
        total += f" − {number(-moved)} to rank behind the memory that supersedes it"
    elif moved:
        total += f" + {number(moved)} to rank before another version"
    return f"log-odds {number(log_odds)} = {total} ({mode}); score = {logistic(log_odds):.3f}"


def _sum(parts: Sequence[tuple[str, float]]) -> str:
    text = ""
    for name, value in parts:
        sign = (" − " if value < 0 else " + ") if text else ("−" if value < 0 else "")
        text += f"{sign}{number(abs(value))} {name}"
    return text or "0"


def number(value: float) -> str:
    """Three significant digits with a true minus sign; an exponent only for extreme values."""
    size = abs(value)
    if size >= 1_000_000 or 0 < size < 0.0001:
        text = f"{size:.2g}"
    else:
        text = f"{size:.0f}" if size >= 100 or size == 0 else f"{size:.3g}"
    return f"−{text}" if value < 0 else text


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def accesses_words(count: int) -> str:
    return f"{count:,} {'access' if count == 1 else 'accesses'}"
