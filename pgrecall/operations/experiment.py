"""The report of an experiment: what became of the sessions of each arm, and what can be concluded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pgrecall.errors import InvalidInput
from pgrecall.models.quality import Experiment, ExperimentArm, ExperimentDifference
from pgrecall.models.reading import read_as
from pgrecall.operations.operation import Operation


def experiment(number: int | None, difference: float) -> Operation[Experiment]:
    """Reports an experiment; ``difference`` is the smallest one worth knowing, 0.01 to 0.5."""
    if number is not None and (
        isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 10**6
    ):
        raise InvalidInput(
            f"The number of the experiment is {number!r:.50}; it must lie between 1 and 1,000,000."
        )
    return Operation(
        "SELECT recall.experiment(%(number)s, %(difference)s) AS experiment",
        {"number": number, "difference": difference},
        lambda rows: _experiment(rows[0]["experiment"]),
        repeatable=True,
    )


def _experiment(document: Mapping[str, Any]) -> Experiment:
    differences = tuple(read_as(ExperimentDifference, entry) for entry in document["differences"])
    return Experiment(
        number=document["number"],
        running=document["running"],
        arms=tuple(
            read_as(ExperimentArm, {**arm, "weights": tuple(arm["weights"])}) for arm in document["arms"]
        ),
        differences=differences,
        without_session=document["without_session"],
        not_assigned=document["not_assigned"],
        needed=document["needed"],
        missing=document["missing"],
        since=_moment(document["since"]),
        until=_moment(document["until"]),
        refused=document["refused"],
        conclusion=_conclusion(document, differences),
    )


def _conclusion(document: Mapping[str, Any], differences: tuple[ExperimentDifference, ...]) -> str:
    match document["refused"]:
        case "no_experiment" if document["number"] is not None:
            return f"No search of experiment {document['number']:,} is logged."
        case "no_experiment":
            return "There is no experiment. Set `search.experiment` to 1 to begin the first."
        case "too_few":
            return (
                f"Too little to conclude from: each arm needs {document['needed']:,} sessions, and "
                f"{document['missing']:,} more are to come in all."
            )
        case "no_use":
            return (
                "Nothing to conclude from: no session is known to have used anything. Report what is "
                "used (`used`, or accesses in the session of the search)."
            )
        case "unequal":
            counts = ", ".join(f"{arm['arm']} {arm['sessions']:,}" for arm in document["arms"])
            return (
                f"No conclusion: the arms have too different numbers of sessions ({counts}) for chance to "
                "have divided them. Begin a new experiment with another number."
            )
        case "weights_changed":
            return (
                "No conclusion: the weight of an arm was changed while the experiment ran. Begin a new one "
                "with another number."
            )
    return " ".join(_sentence(one) for one in differences)


def _sentence(one: ExperimentDifference) -> str:
    figures = f"{100 * one.difference:+.1f} points (interval {100 * one.low:+.1f} to {100 * one.high:+.1f})"
    if one.verdict == "no_difference":
        return f"`{one.arm}` is not distinguishable from `default`: {figures}."
    compared = "more" if one.verdict == "better" else "less"
    return f"With `{one.arm}`, what is shown is used {compared} often than with `default`: {figures}."


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
