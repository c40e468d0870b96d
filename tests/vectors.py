"""How tests/actr_vectors.json describes ages."""

from __future__ import annotations

from typing import Any


def ages_of(vector: dict[str, Any]) -> list[float]:
    """The ages of a vector in days, youngest first, as the file lists or describes them."""
    if "ages_days" in vector:
        return sorted(vector["ages_days"])
    spec = vector["ages"]
    if spec["kind"] == "repeat":
        return sorted(spec["ages"] * spec["times"])
    first, last, steps = spec["newest"], spec["oldest"], spec["n"] - 1
    if spec["kind"] == "arithmetic":
        return [first + (last - first) * step / steps for step in range(steps + 1)]
    return [first * (last / first) ** (step / steps) for step in range(steps + 1)]
