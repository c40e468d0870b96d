"""The explanation of a hit, computed from the grounds of its search when it is first read.

Most explanations are never read, so a search returns only the grounds. ``recall.hit_explanation`` computes
the same for users of SQL; a test compares both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from pgrecall.nouns.search.grounds import SearchGround, read_hit_ground
from pgrecall.vitality.activation import AccessSummary
from pgrecall.vitality.parameters import StoredRates, VitalityWeights
from pgrecall.vitality.score import activation_terms

Part = Mapping[str, Any]


class Explanation(Mapping[str, Any]):
    """Why a hit has its rank: its arms, the terms of its relevance with their features, its vitality and its
    score. A ``dict`` of it can be written as JSON.

    Args:
        hit_ground: the column ``hit_ground`` of the hit, in binary.
        search_ground: that of its search.
        relevance: the relevance of the hit.
        vitality: its vitality.
        zone: its zone.
    """

    def __init__(
        self, hit_ground: bytes, search_ground: SearchGround, *, relevance: float, vitality: float, zone: str
    ) -> None:
        self._given, self._search = hit_ground, search_ground
        self._relevance, self._vitality, self._zone = relevance, vitality, zone

    def __getitem__(self, name: str) -> Any:
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        return repr(self._parts)

    @cached_property
    def _hit(self) -> Part:
        return read_hit_ground(self._given)

    @cached_property
    def _parts(self) -> dict[str, Any]:
        ground, found = self._search.fields, self._hit["found"]
        query = ground["queries"][self._hit["place"] - 1] if ground["queries"] else {}
        parts = {
            "query": query.get("query"),
            "profile": ground["model"]["profile"],
            "arms": _arms(found, self._hit["held"], query),
            "speech_act": found["speech_act"],
            "relevance": self._relevance_terms(found, ground),
            "vitality": self._vitality_terms(ground),
            "score": self._score(found, ground),
            **({"period": query["period"]} if query.get("period") else {}),
        }
        made: dict[str, Any] = _as_json(parts)
        return made

    def _relevance_terms(self, e: Part, ground: Part) -> dict[str, Any]:
        """The terms of the log-odds of the relevance: each feature times its coefficient."""
        w, arms = ground["model"], ground["arms"]
        semantic, lexical, name_weight, _, cue, _, period = arms
        by_words = 0.1 + 0.9 * e["word_trust"]  # as recall_private.weight_of_words
        similarity = tokens = None
        if e["similarity"] is not None:
            similarity = (e["similarity"] - e["typical_similarity"]) * (2 - e["word_trust"])
        if e["token_similarity"] is not None:
            tokens = e["token_similarity"] * by_words
        features = {
            "similarity": similarity,
            "coverage": by_words * (e["coverage"] or 0),
            "information": by_words * math.log(1 + e["strength"]),
            "name": e["likeness"] * (2 if e["named_alone"] else 1),
            "author": e["authored"],
            "cue": e["cue"],
            "period": e["period"],
            "session_coverage": by_words * e["session_coverage"],
            "token_similarity": tokens,
            "question": e["question"],
            "speaker": e["speaker"],
            "no_number": e["no_number"],
            "graph": e["share"] or 0,
        }
        words = {name: w[name] * lexical * features[name] for name in _OF_WORDS}
        logit: float = self._hit["logit"]
        return words | {
            "logit": logit,
            "probability": self._relevance,
            "intercept": w["intercept"],
            "similarity": w["no_similarity"]
            if similarity is None
            else w["similarity"] * semantic * similarity,
            "name": w["name"] * name_weight * features["name"],
            "author": ground["author"] * e["authored"],
            "cue": w["cue"] * cue * e["cue"],
            "period": w["period"] * period * e["period"],
            "token_similarity": _token_term(w, semantic, tokens),
            "question": -w["question"] * e["question"],
            "speaker": w["speaker"] * e["speaker"],
            "no_number": -w["no_number"] * e["no_number"],
            "graph": logit - e["directive"] - e["lent_by_question"] - e["own_logit"],
            "answer": e["lent_by_question"],
            "directive": e["directive"],
            "form": w["form"],
            "features": features,
        }

    def _vitality_terms(self, ground: Part) -> dict[str, Any]:
        """The terms of the vitality, from the row of the memory's accesses."""
        row = self._hit["accesses"]
        weights = VitalityWeights(**ground["weights"])
        newest = tuple(row[f"t{place}"] for place in range(1, 9) if row[f"t{place}"] is not None)
        terms = activation_terms(
            AccessSummary(row["n"], row["first_at"], newest),
            StoredRates(row["clock"], row["decay"]),
            ground["now"],
            in_degree=row["in_degree"],
            spread=row["spread"],
            spread_at=row["spread_at"],
            last_linked_at=row["last_linked_at"],
            weights=weights,
        )
        return {
            "accesses": row["n"],
            "recent": terms.recent,
            "tail": terms.tail,
            "spread": terms.spread,
            "revival": terms.revival,
            "activation": terms.activation,
            "base": terms.base,
            "vitality": self._vitality,
            "retention": max(self._vitality, weights.protection_floor)
            if self._hit["floored"]
            else self._vitality,
            "zone": self._zone,
        }

    def _score(self, e: Part, ground: Part) -> dict[str, Any]:
        """How relevance and vitality result in the score, as log-odds."""
        placed, log_odds = self._hit["placed"], self._hit["log_odds"]
        return {
            "log_odds": placed,
            "mode": ground["mode"],
            "weight": ground["weight"],
            "vitality": log_odds - (0 if ground["window_only"] else self._hit["logit"]),
            "exempt": e["likeness"] == 1,
            "moved": placed - log_odds,
        }


_OF_WORDS = ("coverage", "information", "session_coverage")
"""The terms that count by how far the words of the query are trusted."""


def _token_term(model: Part, weight: float, tokens: float | None) -> float:
    if model["form"] != "logistic":
        return 0.0
    term = model["no_token_similarity"] if tokens is None else model["token_similarity"] * weight * tokens
    return float(term)


def _arms(e: Part, held: int, query: Part) -> dict[str, Any]:
    """What each arm that found the memory says of it."""
    arms: dict[str, Any] = {}
    if e["similarity"] is not None:
        arms["semantic"] = {
            "similarity": e["similarity"],
            "typical": e["typical_similarity"] or None,
            "rank": e["semantic_rank"],
        }
    if e["strength"] > 0:
        step, words = _word_step(held, query)
        arms["lexical"] = {
            "coverage": e["coverage"],
            "strength": e["strength"],
            "rank": e["lexical_rank"],
            "trust": None if e["word_trust"] == 1 else e["word_trust"],
            "step": step,
            "words": words,
        }
    if e["likeness"] > 0:
        arms["name"] = {"likeness": e["likeness"], "alone": e["named_alone"]}
    if e["cue"] > 0:
        arms["cue"] = {"strength": e["cue"], "cue": e["cued_by"]}
    if e["seed"] is not None:
        arms["graph"] = {"share": e["share"], "from": e["seed"]}
    if e["asked"] is not None:
        arms["question"] = {"answers": e["asked"]}
    return {
        arm: {name: value for name, value in part.items() if value is not None} for arm, part in arms.items()
    }


def _word_step(held: int, query: Part) -> tuple[str, dict[str, float]]:
    """How far the words of the query were relaxed to find the memory, and those that it holds with their
    weights (as ``recall_private.word_step``)."""
    words, steps, idfs = (query.get(name) or () for name in ("words", "steps", "idfs"))
    bits = [bool(held >> place & 1) for place in range(len(words))]
    found = {step for step, bit in zip(steps, bits, strict=True) if bit}
    if words and all(bits) and found == {"word"}:
        reached = "all words"
    elif "word" in found:
        reached = "some words"
    else:
        reached = next((step for step in ("prefix", "similar") if step in found), "some words")
    return reached, {word: round(idf, 3) for word, idf, bit in zip(words, idfs, bits, strict=True) if bit}


def _as_json(value: Any) -> Any:
    """A value as it is read from JSON of Postgres: names by length, and whole numbers without a point."""
    if isinstance(value, Mapping):
        names = sorted(value, key=lambda name: (len(name.encode()), name.encode()))
        return {name: _as_json(value[name]) for name in names}
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
