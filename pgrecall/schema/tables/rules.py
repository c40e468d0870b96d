"""Conditions on the rows of tables, with the sentence by which an import refuses a row that breaks one.

Conditions that are plain by themselves, such as the values of a state, are beside the columns. Each statement
reads the conditions of its table again: three long ones on activations and accesses would cost `remember` 6 %
of its time, and are left to `imported_conditions`. BETWEEN stands alone: beside AND, a dump changes its
brackets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlalchemy import CheckConstraint

from pgrecall.nouns.memories.models import RELATIONS

RELATION_NAMES = ", ".join(f"'{relation}'" for relation in RELATIONS)

_RULES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "layer_median": {
        "base": ("base BETWEEN -210 AND 210", "its median does not lie between -210 and 210"),
    },
    "relevance_model": {
        "name": (
            "length(embedder) <= 500 AND length(profile) >= 1 AND length(profile) <= 100",
            "its embedder or profile is empty or too long",
        ),
        "fitted": ("length(fitted_on) BETWEEN 1 AND 500", "its fitted_on does not have 1 to 500 characters"),
    },
    "rerank_model": {
        "name": (
            "length(reranker) >= 1 AND length(reranker) <= 500 AND (reranker <> '*' OR tenant = '*')",
            "the name of its reranker is missing, too long or *",
        ),
        "coefficients": (
            "intercept >= -1000 AND intercept <= 1000 AND rerank >= 0 AND rerank <= 1000 AND fused >= 0 "
            "AND fused <= 1000",
            "a coefficient of it is out of bounds",
        ),
        "fitted": ("length(fitted_on) BETWEEN 1 AND 500", "its fitted_on does not have 1 to 500 characters"),
    },
    "lexeme": {
        "documents": (
            "documents BETWEEN 0 AND 1000000000000",
            "its documents do not lie between 0 and 1000000000000",
        ),
        "length": (
            "body_length BETWEEN 0 AND 100000000",
            "its body_length does not lie between 0 and 100000000",
        ),
        "mean": (
            "(mean_embedding IS NULL) = (mean_embedder IS NULL) AND (word = '' OR mean_embedder IS NULL) "
            "AND length(mean_embedder) <= 500",
            "its mean_embedding and mean_embedder do not belong together, or not to its word",
        ),
    },
    "memory_version": {
        "writers": (
            "greatest(length(written_by), length(written_through), length(replaced_by), "
            "length(replaced_through)) <= 100 AND octet_length(author) <= 2000",
            "its author or who wrote or replaced it is too long",
        ),
        "values": (
            "array_position(tags, NULL) IS NULL AND array_position(aliases, NULL) IS NULL AND "
            "jsonb_typeof(metadata) = 'object'",
            "its tags or aliases hold nulls, or its metadata is not a JSON object",
        ),
    },
    "token_signs": {
        "model": ("length(model) BETWEEN 1 AND 500", "its model does not have 1 to 500 characters"),
    },
    "activation": {
        "count": ("n BETWEEN 1 AND 1000000000000", "its n does not lie between 1 and 1000000000000"),
        "cut": ("cut_size >= 0", "its cut_size is negative"),
        "sessions": (
            "sessions >= 0 AND sessions <= 1000000000 AND (sessions = 0 OR sessions_at IS NOT NULL)",
            "its sessions do not lie between 0 and 1000000000, or have no sessions_at",
        ),
        "vitality": (
            "vitality >= 0 AND vitality <= 1 AND (vitality IS NULL) = (computed_at IS NULL)",
            "its vitality does not lie between 0 and 1, or has no computed_at",
        ),
    },
    "pending_link": {
        "target": (
            "length(target) >= 1 AND length(target) <= 1000 AND octet_length(target) <= 2000",
            "its target does not have 1 to 1,000 characters in at most 2,000 bytes",
        ),
    },
    "link_history": {
        "relation": (f"relation IN ({RELATION_NAMES})", "its relation is unknown"),
    },
    "access": {
        "merge": ("merged_from <> memory_id", "it was merged from its own memory"),
    },
    "access_key": {
        "length": ("octet_length(idempotency_key) <= 1000", "its idempotency key has more than 1,000 bytes"),
    },
    "access_queue": {
        "ids": ("array_position(memory_ids, NULL) IS NULL", "one of its memory_ids is null"),
    },
    "plan_item": {
        "place": ("place >= 0", "its place is negative"),
        "values": (
            "vitality >= 0 AND vitality <= 1 AND coalesce(similarity >= -1 AND similarity <= 1, true)",
            "its vitality or similarity is out of bounds",
        ),
        "terms": (
            "coalesce(jsonb_typeof(terms) = 'object' AND jsonb_typeof(impact) = 'object', true)",
            "its terms or its impact is not a JSON object",
        ),
        "sessions": (
            "sessions_before >= 0 AND sessions_before <= 1000000000 AND coalesce(sessions_at_before BETWEEN "
            "-62135424000 AND 253402128000, true)",
            "its sessions are out of bounds",
        ),
    },
    "search_log": {
        "length": (
            "length(query) <= 10000 AND length(profile) <= 100",
            "its query has more than 10,000 characters, or its profile more than 100",
        ),
    },
}  # fmt: skip


def rules(table: str) -> Iterator[CheckConstraint]:
    """The constraints of a table, each named after it and its rule."""
    for name, (condition, sentence) in _RULES[table].items():
        yield CheckConstraint(condition, name=f"{table}_{name}_check", comment=sentence)
