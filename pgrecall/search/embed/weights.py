"""The weights of the default model: mapped from its file, and rounded to 8 bits on request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

_UNUSED = ("pooler.", "embeddings.position_ids")
_STEPS = 63
"""Largest integer of a weight. CPUs without VNNI add two products in 16 bits, where 127 could overflow."""


def mapped_weights(file: Path) -> dict[str, NDArray[np.float32]]:
    """The tensors that the graph needs, mapped from a safetensors file without a copy.

    The format: eight bytes for the length of a JSON header with the type, the shape and the place of each
    tensor, then the numbers (https://huggingface.co/docs/safetensors). Its library would copy them: a search
    from the command line took 317 MB with it, and takes 231 MB.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged.
    """
    import numpy as np

    content = np.memmap(file, dtype=np.uint8, mode="r")
    first = 8 + int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8:first].tobytes())
    weights: dict[str, NDArray[np.float32]] = {}
    for name, tensor in header.items():
        if name == "__metadata__" or name.startswith(_UNUSED):
            continue
        start, end = tensor["data_offsets"]
        numbers = content[first + start : first + end].view(np.dtype("<f4"))
        weights[name] = numbers.reshape(tensor["shape"])
    return weights


def in_8_bits(weights: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
    """Returns the same tensors with the matrices of the layers as integers.

    Returns:
        For the matrix ``name`` (outputs, inputs): ``name.int8`` (inputs, outputs) and ``name.scale``
        (outputs), the numbers that an integer of 1 stands for.
    """
    import numpy as np

    rounded: dict[str, NDArray[Any]] = {}
    for name, weight in weights.items():
        if not name.startswith("encoder.") or weight.ndim != 2:
            rounded[name] = weight
            continue
        scale = np.abs(weight).max(axis=1) / np.float32(_STEPS)
        scale[scale == 0] = 1  # of an output that has no weights
        rounded[f"{name}.scale"] = scale
        rounded[f"{name}.int8"] = np.ascontiguousarray(np.rint(weight / scale[:, None]).astype(np.int8).T)
    return rounded
