"""Checks of a request for a context."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from pgrecall.errors import InvalidInput
from pgrecall.nouns.context.models import ContextRequest, Order
from pgrecall.settings import Settings

MAX_BUDGET = 10_000_000
MAX_CANDIDATES = 200

_OPTIONAL = ("min_confidence", "directive_share", "state_share")
_SHARES = ("mmr_lambda", "min_relevance", *_OPTIONAL)
_ORDERS: tuple[Order, ...] = get_args(Order)


def require_valid_request(request: ContextRequest, k: int) -> None:
    """Checks a request; ``k`` is the number of memories to choose from.

    Raises:
        InvalidInput: the budget, a quota, the order, a weight, the counter or k is invalid.
    """
    if not _whole(request.budget_tokens, 1, MAX_BUDGET):
        raise InvalidInput(
            f"The budget is {request.budget_tokens!r} tokens; it must be a whole number between 1 and "
            f"{MAX_BUDGET:,}."
        )
    if not _whole(k, 1, MAX_CANDIDATES):
        raise InvalidInput(
            f"k is {k!r}; a context is chosen from 1 to {MAX_CANDIDATES} memories.",
            hint="The budget says how many of them are shown.",
        )
    if request.order not in _ORDERS:
        raise InvalidInput(
            f"The order {request.order!r} is unknown.", hint=f"Use one of {', '.join(_ORDERS)}."
        )
    for name in _SHARES:
        value = getattr(request, name)
        if not _share(value) and (value is not None or name not in _OPTIONAL):
            raise InvalidInput(f"{name} is {value!r}; it must lie between 0 and 1.")
    if not _share(request.duplicate_at) or request.duplicate_at == 0:
        raise InvalidInput(f"duplicate_at is {request.duplicate_at!r}; it must lie above 0 and at most at 1.")
    if request.count_tokens is not None and not callable(request.count_tokens):
        raise InvalidInput("count_tokens cannot be called.", hint="Give a function of a text.")
    if request.exclude is not None and not callable(request.exclude):
        raise InvalidInput("exclude cannot be called.", hint="Give a function of a hit.")
    _require_quotas(request.per_layer)


def with_shares(request: ContextRequest, settings: Settings) -> ContextRequest:
    """The request with the shares of the settings where it has none."""
    directives, state = request.directive_share, request.state_share
    return replace(
        request,
        directive_share=settings.context_directives if directives is None else directives,
        state_share=settings.context_state if state is None else state,
    )


def require_layers(request: ContextRequest, known: frozenset[str]) -> None:
    """Refuses a quota for an unknown layer.

    Raises:
        InvalidInput: naming the first such layer.
    """
    for name in request.per_layer:
        if name not in known:
            there = ", ".join(sorted(known))
            raise InvalidInput(f"The layer {name!r} is unknown.", hint=f"Choose one of: {there}.")


def _require_quotas(quotas: Mapping[str, int]) -> None:
    for layer, quota in quotas.items():
        if not _whole(quota, 0, None):
            raise InvalidInput(
                f"The quota of the layer {layer!r} is {quota!r}; it must be a whole number, 0 or more."
            )


def _whole(value: object, low: int, high: int | None) -> bool:
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and low <= value
        and (high is None or value <= high)
    )


def _share(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1
