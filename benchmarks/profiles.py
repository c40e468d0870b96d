"""The named profiles that ship, derived from the fitted one, as rows for ``16_defaults/01_defaults.sql``.

A derived profile takes some coefficients of `balanced` times a factor; its constants are fitted anew, so that
its relevance is right on the whole. The factors are chosen, not fitted: there is no judged set for each kind
of question. `seed` and `rrf` are formulas whose columns are weights; see docs/howto/calibrate.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pgrecall.models.calibration import FEATURES
from pgrecall.search.calibration.fitting import Examples, Terms, fit_relevance

COLUMNS = ("intercept", "similarity", "no_similarity", *FEATURES[1:])


@dataclass(frozen=True, slots=True)
class Derived:
    """By what `balanced` is changed; ``vitality_weight`` None leaves it to the setting."""

    factors: Mapping[str, float] = field(default_factory=dict)
    vitality_weight: float | None = None


PROFILES = {
    "balanced": Derived(),
    # Who or what it is about decides, and a person does not become less so with time.
    "identity": Derived({"name": 1.5, "author": 1.5}, vitality_weight=0.25),
    # What was written down holds until it is replaced; what it links to belongs to the answer.
    "knowledge": Derived({"graph": 1.5, "phrase": 1.5}, vitality_weight=0.25),
    # What happened is remembered by what happened with it.
    "episodic": Derived({"cue": 1.5, "graph": 1.5}),
    # What is being worked on now is what is meant: the liveliest.
    "activity": Derived({"cue": 1.5}, vitality_weight=1.0),
}

FORMULAS = """\
    ('*', '*', 'seed', 'seed', 0, 0.5, 0, 0.3, 0, 0.2, 0, 0, 0, 0, NULL, 'multiply',
     'a blend: 0.5 meaning + 0.3 words + 0.2 names, times vitality'),
    ('*', '*', 'rrf', 'rrf', 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, NULL, NULL,
     'reciprocal ranks of meaning, words and names, k = 60')"""


def rows(examples: Examples, terms: Terms, balanced: Mapping[str, float], fitted_on: str) -> str:
    """VALUES of all profiles in the order of 16_defaults/01_defaults.sql."""
    lines = []
    for name, profile in PROFILES.items():
        values = balanced if name == "balanced" else _recentred(examples, terms, balanced, profile)
        numbers = ", ".join(f"{values[column]:.2f}" for column in COLUMNS)
        weight = "NULL" if profile.vitality_weight is None else f"{profile.vitality_weight:g}"
        origin = fitted_on if name == "balanced" else f"balanced with {_told(profile.factors)}"
        lines.append(f"    ('*', '*', '{name}', 'logistic', {numbers}, {weight}, NULL,\n     '{origin}')")
    return ",\n".join((*lines, FORMULAS))


def _recentred(
    examples: Examples, terms: Terms, balanced: Mapping[str, float], profile: Derived
) -> dict[str, float]:
    """The profile's coefficients with an intercept and a no_similarity that fit the judged candidates."""
    changed = {name: value * profile.factors.get(name, 1.0) for name, value in balanced.items()}
    features = {name: changed[name] for name in FEATURES}
    # A feature whose coefficient grows must not make every memory more likely.
    return terms.named(fit_relevance(examples, terms.fixed(features)))


def _told(factors: Mapping[str, float]) -> str:
    return ", ".join(f"{name} times {factor:g}" for name, factor in factors.items())
