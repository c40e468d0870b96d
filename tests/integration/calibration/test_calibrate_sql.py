"""Coefficients through SQL alone: what is stored, what is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from psycopg.errors import InvalidParameterValue

from tests.databases import Query


def fitted(coefficients: object, **fields: Any) -> dict[str, str]:
    document = {"profile": "balanced", "embedder": None, "fitted_on": "a test", "coefficients": coefficients}
    return {"model": json.dumps(document | fields)}


SOUND = dict.fromkeys(
    (
        "coverage", "information", "name", "author", "cue", "period", "session_coverage",
        "question", "speaker", "no_number", "graph", "token_similarity",
    ),
    1,
)  # fmt: skip
SOUND |= {"intercept": -5, "no_similarity": 2.5, "no_token_similarity": -1, "similarity": 7}
STORE = "SELECT recall.store_relevance_model(%(model)s::jsonb)"


def test_sql_stores_and_resets(query: Query) -> None:
    query(STORE, fitted(SOUND))
    query(STORE, fitted(SOUND | {"intercept": -6}))
    first = query("SELECT * FROM recall.relevance_models('balanced')")[0]
    assert (first["source"], first["coefficients"]) == ("tenant", SOUND | {"intercept": -6})
    assert query("SELECT recall.reset_relevance_model('balanced') AS r") == [{"r": True}]
    assert query("SELECT source FROM recall.relevance_models('balanced')") == [{"source": "database"}]


def test_clients_of_earlier_versions_calibrate(query: Query) -> None:
    """They do not know ``no_number``, and fit ``phrase``."""
    theirs = {name: value for name, value in SOUND.items() if name != "no_number"}
    query(STORE, fitted(theirs | {"phrase": 1}))
    [model, *_] = query("SELECT * FROM recall.relevance_models('balanced')")
    assert model["coefficients"] == SOUND | {"no_number": 0}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (fitted(SOUND, profile="nothing"), "There is no profile 'nothing'."),
        (fitted(SOUND, profile=None), "There is no profile NULL."),
        (fitted(SOUND, embedder="another"), "fitted with the embedder another, and this database has none."),
        (fitted(SOUND, fitted_on=""), "The model does not say what it was fitted on."),
        (fitted(SOUND, fitted_on=None), "The model does not say what it was fitted on."),
        (fitted(None), "The coefficients are not a JSON object."),
        (fitted([1]), "The coefficients are not a JSON object."),
        (fitted(SOUND | {"zeal": 1}), "There is no coefficient 'zeal'."),
        (fitted(SOUND | {"name": -0.1}), "The coefficient name is -0.1."),
        (fitted(SOUND | {"name": "1"}), 'The coefficient name is "1".'),
        (fitted(SOUND | {"name": None}), "The coefficient name is null."),
        (fitted(SOUND | {"intercept": 1e300}), "The coefficient intercept is "),
        (fitted({"intercept": 1}), "The coefficient author is not given."),
        ({"model": "[]"}, "There is no profile NULL."),
    ],
)
def test_sql_refuses_coefficients_that_cannot_be(sql: Query, call: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidParameterValue, match=re.escape(sentence)):
        sql(STORE, call)


READING = {"intercept": -1, "rerank": 0.8, "fused": 0.4}
STORE_READING = "SELECT recall.store_rerank_model(%(model)s::jsonb)"


def reading(**fields: Any) -> dict[str, str]:
    document = {"reranker": "a model", "coefficients": READING, "fitted_on": "a test"}
    return {"model": json.dumps(document | fields)}


def test_sql_stores_and_resets_how_a_reranker_is_read(query: Query) -> None:
    query(STORE_READING, reading())
    query(STORE_READING, reading(fitted_on="another test"))
    mine, *shipped = query("SELECT * FROM recall.rerank_models()")
    assert mine == {
        "reranker": "a model", "source": "tenant", "in_force": True, "coefficients": READING,
        "fitted_on": "another test",
    }  # fmt: skip
    assert [(row["reranker"], row["source"]) for row in shipped] == [("*", "database")]
    assert query("SELECT recall.reset_rerank_model('a model') AS r") == [{"r": True}]
    assert query("SELECT recall.reset_rerank_model('a model') AS r") == [{"r": False}]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"reranker": "*"}, "The name of the reranker is missing, too long or *."),
        ({"reranker": None}, "The name of the reranker is missing, too long or *."),
        ({"coefficients": READING | {"rerank": -1}}, "The coefficient rerank is -1."),
        ({"coefficients": {}}, "The coefficient fused is not given."),
        ({"fitted_on": "x" * 501}, "The model does not say what it was fitted on."),
    ],
)
def test_sql_refuses_a_reading_that_cannot_be(sql: Query, fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidParameterValue, match=re.escape(sentence)):
        sql(STORE_READING, reading(**fields))
