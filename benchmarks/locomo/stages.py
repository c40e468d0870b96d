"""The stages in which retrieval is measured: each arm alone, all of them, and all of them reranked."""

from __future__ import annotations

from pgrecall.arguments import SearchOptions

PATIENCE = 600.0
"""Seconds for each question: no deadline may cut a measure of quality."""

ARMS = ("semantic", "lexical", "name", "author", "cue", "graph", "period")
FUSED = "fused"
ALONE = {
    "words": ("lexical",),
    "meaning": ("semantic",),
    "words and names": ("lexical", "name", "author"),
}
ARMS_ALONE = ("words", "meaning")


def stages(*, embeds: bool, reranks: bool) -> dict[str, SearchOptions]:
    """The search options of each stage."""
    alone: dict[str, SearchOptions] = {
        stage: {"weights": {arm: 0.0 for arm in ARMS if arm not in kept}, "vitality_mode": "off"}
        for stage, kept in ALONE.items()
        if embeds or "semantic" not in kept
    }
    together: dict[str, SearchOptions] = {
        FUSED: {},
        "fused, vitality off": {"vitality_mode": "off"},
    }
    reranked: dict[str, SearchOptions] = {"fused, reranked": {"rerank": True, "deadline": PATIENCE}}
    return alone | together | (reranked if reranks else {})
