"""The view of quality: use by rank, unanswered queries, experiments, misses and replays."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from starlette.responses import Response

from pgrecall.arguments import RankingChange
from pgrecall.errors import InvalidInput, RecallError
from pgrecall.faces.http.problems import problem_type
from pgrecall.faces.page.form_fields import Fields, float_field, int_field, text_field
from pgrecall.faces.page.request_handling import PageRequest
from pgrecall.faces.wording import seen_words
from pgrecall.nouns.quality.models import Experiment, Miss, Replay

SHOWN_RANKS, SHOWN_MOVES, MAX_REPLAYED = 10, 10, 100
_MISS_FIELDS = ("q", "memory")
_REPLAY_FIELDS = ("vitality_weight", "semantic", "lexical", "days")
_ARMS = ("semantic", "lexical")
ARM_NAMES = {
    "semantic": "meaning",
    "lexical": "words",
    "name": "name",
    "cue": "association",
    "graph": "links",
}


async def quality(request: PageRequest) -> Response:
    """Shows reports about the log of searches; with a query and a memory, the reason of a miss."""
    fields = {name: (text_field(request.query, name) or "").strip() for name in _MISS_FIELDS}
    if not any(fields.values()):
        return await _view(request)
    try:
        missed = await request.memory.quality.miss(fields["q"], _reference(fields["memory"]))
    except RecallError as error:
        return await _view(request, fields=fields, miss_problem=error)
    return await _view(request, fields=fields, miss=missed)


async def replay(request: PageRequest) -> Response:
    """Which results of logged queries would change with other weights. Changes nothing."""
    fields = {name: (text_field(request.form, name) or "").strip() for name in _REPLAY_FIELDS}
    try:
        days = int_field(request.form, "days", 1, low=1, high=90)
        replayed = await request.memory.quality.replay(
            since=request.now - timedelta(days=days),
            limit=MAX_REPLAYED,
            moved=SHOWN_MOVES,
            **_change(request.form),
        )
    except InvalidInput as error:
        return await _view(request, fields=fields, replay_problem=error)
    return await _view(request, fields=fields, replay=replayed)


def _change(form: Fields) -> RankingChange:
    change: RankingChange = {}
    weight = float_field(form, "vitality_weight")
    if weight is not None:
        change["vitality_weight"] = weight
    weights = {arm: given for arm in _ARMS if (given := float_field(form, arm)) is not None}
    if weights:
        change["weights"] = weights
    return change


async def _view(
    request: PageRequest,
    *,
    fields: dict[str, str] | None = None,
    miss: Miss | None = None,
    replay: Replay | None = None,
    miss_problem: RecallError | None = None,
    replay_problem: RecallError | None = None,
) -> Response:
    problem = miss_problem or replay_problem
    values: dict[str, Any] = dict.fromkeys((*_MISS_FIELDS, *_REPLAY_FIELDS), "")
    experiment = await request.memory.quality.experiment()
    return await request.render(
        "quality.html.j2",
        status=200 if problem is None else problem_type(problem).status,
        report=await request.memory.quality.report(),
        experiment=experiment,
        differences=_differences(experiment),
        fields=values | (fields or {}),
        shown_ranks=SHOWN_RANKS,
        arm_names=ARM_NAMES,
        seen_words=seen_words,
        miss=miss,
        replay=replay,
        miss_problem=miss_problem,
        replay_problem=replay_problem,
    )


def _differences(experiment: Experiment) -> dict[str, str]:
    """The difference of each arm from the default in points, with its interval."""
    return {
        one.arm: f"{100 * one.difference:+.1f} [{100 * one.low:+.1f}, {100 * one.high:+.1f}]"
        for one in experiment.differences
    }


def _reference(text: str) -> int | str:
    """A memory by its id or its key, as it was typed."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text
