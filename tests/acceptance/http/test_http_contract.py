"""The OpenAPI document: it says what the dataclasses say, and the service keeps to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_type_hints

import pytest
import schemathesis
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

import pgrecall
from pgrecall.arguments import LayerFields
from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.faces.http.app import ROUTERS
from pgrecall.nouns.plans.dedupe import DedupeReport
from pgrecall.nouns.plans.operations import DedupeRequest, PruneRequest
from pgrecall.nouns.plans.prune import PlanReport
from tests.acceptance.http.http_tools import Served, serving
from tests.databases import new_database
from tests.scale import SCALE
from tests.waiting import PATIENCE

ASKED: dict[str, list[type]] = {
    "Draft": [pgrecall.Draft],
    "SearchRequest": [pgrecall.SearchRequest],
    "ContextBody": [pgrecall.SearchRequest, pgrecall.ContextRequest],
    "PruneRequest": [PruneRequest],
    "DedupeRequest": [DedupeRequest],
    "Access": [pgrecall.Access],
    "DraftLink": [pgrecall.DraftLink],
}
SHOWN: dict[str, type] = {
    shape.__name__: shape
    for shape in (
        pgrecall.Remembered, pgrecall.StoredMemory, pgrecall.VitalityTerms, pgrecall.Link, pgrecall.Hit,
        pgrecall.SearchResult, pgrecall.ContextBlock, pgrecall.LeftOut, pgrecall.PrunePlan,
        pgrecall.DedupePlan, DedupeReport, pgrecall.PlanSummary, pgrecall.PlanOutcome, pgrecall.PlanUndone,
        pgrecall.Layer, pgrecall.Setting, pgrecall.Status, pgrecall.JobStatus,
        pgrecall.JobRun, pgrecall.LayerStatus, pgrecall.Check, PlanReport,
    )
}  # fmt: skip
ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
CASES = [
    pytest.param(method, route.path_format, mode, id=f"{method} {route.path_format} {mode.value}")
    for route in ROUTES
    for method in sorted(route.methods)
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or route.body_field or route.dependant.query_params
]


@pytest.fixture(scope="module")
def api(server: EmbeddedServer, template: str) -> Iterator[Served]:
    for url in new_database(server, template):
        with serving(url, http_body_bytes="2147483648") as served:
            yield served


@pytest.fixture(scope="module")
def document(api: Served) -> dict[str, Any]:
    return dict(api.client.get("/openapi.json").json())


@pytest.mark.parametrize("name", ASKED)
def test_a_request_has_the_fields_of_its_dataclasses(document: dict[str, Any], name: str) -> None:
    schema = document["components"]["schemas"][name]
    expected = {field.name for shape in ASKED[name] for field in fields(shape)} - {"count_tokens", "exclude"}
    assert set(schema["properties"]) == expected
    assert schema["additionalProperties"] is False


def test_the_change_of_a_layer_has_the_fields_of_the_client(document: dict[str, Any]) -> None:
    schema = document["components"]["schemas"]["SetLayerBody"]
    assert set(schema["properties"]) == {*get_type_hints(LayerFields), "now"}


@pytest.mark.parametrize("name", SHOWN)
def test_an_answer_has_the_fields_of_its_dataclass_and_what_it_computes(
    document: dict[str, Any], name: str
) -> None:
    shape = SHOWN[name]
    computed = {member for member, value in vars(shape).items() if isinstance(value, property)}
    expected = {field.name for field in fields(shape)} | computed
    schema = document["components"]["schemas"][name]
    assert set(schema["properties"]) == expected == set(schema["required"])


def test_every_operation_of_the_api_says_what_a_problem_is(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            problem = operation["responses"]["default"]["content"]["application/problem+json"]["schema"]
            assert problem == {"$ref": "#/components/schemas/ProblemDetails"}
            assert operation["summary"]
            assert operation["description"]
            assert ("security" in operation) == path.startswith("/v1/")


def test_descriptions_have_the_words_of_json(document: dict[str, Any]) -> None:
    """They are made of docstrings, which have those of Python."""
    assert re.findall(r'"description": "[^"]*\b(?:None|True|False)\b', json.dumps(document)) == []


def test_no_parameter_may_be_null(document: dict[str, Any]) -> None:
    """A query leaves a parameter out; if the document allows null, a single value of a list looks wrong."""
    operations = [each for methods in document["paths"].values() for each in methods.values()]
    parameters = [each for operation in operations for each in operation.get("parameters", ())]
    assert [each["name"] for each in parameters if {"type": "null"} in each["schema"].get("anyOf", ())] == []
    [sources] = [each for each in parameters if each["name"] == "sources"]
    assert sources["schema"]["items"] == {"type": "string"}


@pytest.fixture(scope="module")
def api_schema(api: Served) -> Any:
    return schemathesis.openapi.from_url(f"{api.url}/openapi.json")


@pytest.mark.parametrize(("method", "path", "mode"), CASES)
def test_it_keeps_to_its_own_contract(api_schema: Any, method: str, path: str, mode: GenerationMode) -> None:
    """What the document allows is answered as it says, what it forbids is refused, nothing is a 500.

    A name of the right form may still be nobody's: so what it allows may be refused as well.
    """

    @settings(max_examples=8, derandomize=SCALE == 1, suppress_health_check=list(HealthCheck))
    @given(api_schema[path][method].as_strategy(generation_mode=mode))
    def holds(case: Any) -> None:
        case.call_and_validate(timeout=PATIENCE, excluded_checks=[positive_data_acceptance])

    holds()
