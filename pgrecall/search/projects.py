"""The preference of a search for the memories of one project."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pgrecall.errors import InvalidInput
from pgrecall.nouns.memories.models import PROJECT
from pgrecall.nouns.search.found import Candidate
from pgrecall.nouns.search.models import Hit, SearchRequest

OTHER_PROJECT = -math.log(8)
"""What the log-odds of a memory of another project lose. It must be clearly better: .9 becomes .53."""

MAX_PROJECT = 1000
"""Characters of a project in a request."""


def within_project(request: SearchRequest) -> SearchRequest:
    """The request with its project as a filter, if it is for that project only.

    Raises:
        InvalidInput: the project is empty or too long, or missing where only its memories are wanted.
    """
    project = request.project
    if project is None:
        if request.project_only:
            raise InvalidInput(
                "project_only needs a project.", hint="Name one with project, or leave it out."
            )
        return request
    if not project.strip() or len(project) > MAX_PROJECT:
        raise InvalidInput(
            f"The project {project[:60]!r} has {len(project):,} characters.",
            hint=f"Give 1 to {MAX_PROJECT:,}, such as github.com/mira/clock.",
        )
    if not request.project_only:
        return request
    given = {**(request.metadata or {}), PROJECT: project}
    return replace(request, metadata=given, project=None, project_only=False)


def handicaps(candidates: Sequence[Candidate], projects: Mapping[int, str], project: str) -> dict[int, float]:
    """What is added to the log-odds of candidates, by id: less than 0 for those of other projects.

    A memory without a project belongs to all of them.
    """
    found = {one.hit.id: projects.get(one.hit.id, project) for one in candidates}
    return {id_: OTHER_PROJECT for id_, other in found.items() if other != project}


def explained(hits: Sequence[Hit], projects: Mapping[int, str], lost: Mapping[int, float]) -> tuple[Hit, ...]:
    """The hits, with the project and what it costs in the explanations of those of other projects."""
    return tuple(
        replace(
            hit,
            explanation={**hit.explanation, "project": {"name": projects[hit.id], "log_odds": lost[hit.id]}},
        )
        if hit.explanation and hit.id in lost
        else hit
        for hit in hits
    )


def other_project(project: Mapping[str, Any]) -> str:
    """The part of an explanation about another project as a sentence without full stop; empty for none."""
    if "name" not in project:
        return ""
    divisor = math.exp(-project["log_odds"])
    return f"It is of another project, {project['name']}, which divides its odds by {divisor:.3g}"
