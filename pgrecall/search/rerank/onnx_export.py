"""Export of a cross-encoder from torch to ONNX Runtime, with its weights in 8-bit integers or unchanged."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgrecall.errors import InvalidInput, RerankerError
from pgrecall.search.model_loading import (
    first_line,
    load_runtime,
    max_positions,
    model_folder,
    require_package,
    silence_libraries,
)
from pgrecall.search.rerank.first_token import (
    LOGIT_TOLERANCE,
    SAMPLES,
    encoded_samples,
    read_first_token_only,
)
from pgrecall.search.rerank.onnx_quantization import quantize_weights

_HINT = "Give the folder of a cross-encoder with one score, as sentence-transformers saves it."


@dataclass(frozen=True, slots=True)
class OnnxExport:
    """The folder of the model, its size in bytes before and after, and the largest change of a sample's
    logit."""

    folder: Path
    bytes_before: int
    bytes_after: int
    moved: float


EXPORT_STEPS = 6
"""Load the model, run it, write its graph, compare both, round the weights, compare again."""


def export_onnx(
    folder: str | Path,
    out: str | Path,
    *,
    exact: bool = False,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> OnnxExport:
    """Exports a cross-encoder for OnnxReranker: model.onnx, tokenizer.json and its configuration.

    The graph in full precision must return the same logits as the model before its weights are rounded.

    Args:
        folder: the folder of the cross-encoder.
        out: the folder to create; it appears complete or not at all.
        exact: keeps the weights in full precision instead of 8-bit integers.
        progress: called after each step with the number of steps done and the total.

    Raises:
        InvalidInput: ``out`` exists and is not empty, or lies in a folder that does not exist.
        MissingExtra: pgrecall[onnx] is not installed.
        RerankerError: ``folder`` holds no cross-encoder, or it cannot be exported.
    """
    for package in ("torch", "transformers", "onnx", "onnxscript", "onnxruntime"):
        require_package(package, "onnx")
    source, target = model_folder(folder), model_folder(out)
    if not (source / "config.json").is_file():
        raise RerankerError(f"The folder {source} holds no cross-encoder.", hint=_HINT)
    _require_free(target)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=target.parent) as directory:
        try:
            with _without_export_logs():
                return _export(source, Path(directory), target, exact, progress)
        except RerankerError:
            raise
        except Exception as error:  # the libraries may raise anything
            raise RerankerError(
                f"The cross-encoder {source} could not be exported: {first_line(error)}.", hint=_HINT
            ) from error


def _require_free(target: Path) -> None:
    taken = target.exists() and (not target.is_dir() or any(target.iterdir()))
    if taken or not target.parent.is_dir():
        raise InvalidInput(
            f"The export cannot be written to {target}.",
            hint="Name a new or empty folder, in one that exists.",
        )


def _export(
    source: Path, directory: Path, target: Path, exact: bool, progress: Callable[[int, int], None]
) -> OnnxExport:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(source, local_files_only=True).float().eval()
    _require_single_score(model, source)
    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True)
    progress(1, EXPORT_STEPS)
    samples = encoded_samples(model, tokenizer)
    with torch.inference_mode():
        expected = model(**samples).logits[:, 0].tolist()
    read_first_token_only(model, tokenizer)
    progress(2, EXPORT_STEPS)
    plain, done = directory / "plain.onnx", directory / "done"
    _write_graph(model, samples, plain)
    progress(3, EXPORT_STEPS)
    together = {name: value.numpy() for name, value in samples.items()}
    if _largest_difference(plain, [together], expected) > LOGIT_TOLERANCE:
        raise RerankerError(
            f"The graph of the cross-encoder {source} does not answer as the model does.", hint=_HINT
        )
    progress(4, EXPORT_STEPS)
    tokenizer.save_pretrained(done)
    model.config.save_pretrained(done)
    if not (done / "tokenizer.json").is_file():
        raise RerankerError(f"The tokenizer of {source} has no fast form.", hint=_HINT)
    size = plain.stat().st_size
    limit = max_positions(model.config.to_dict())
    alone = [
        dict(tokenizer(*pair, truncation=True, max_length=limit, return_tensors="np")) for pair in SAMPLES
    ]
    graph = done / "model.onnx"
    if exact:
        plain.replace(graph)
    else:
        quantize_weights(plain, graph, alone)
    progress(5, EXPORT_STEPS)
    moved = _largest_difference(graph, alone, expected)
    size_after = graph.stat().st_size
    done.replace(target)
    progress(EXPORT_STEPS, EXPORT_STEPS)
    return OnnxExport(target, size, size_after, moved)


def _require_single_score(model: Any, source: Path) -> None:
    """Refuses other models; the libraries would give them a head with random weights."""
    names = model.config.architectures or [""]
    if not names[0].endswith("ForSequenceClassification") or model.config.num_labels != 1:
        raise RerankerError(
            f"The model {source} is not a cross-encoder with one score but a {names[0]} "
            f"with {model.config.num_labels}.",
            hint=_HINT,
        )


def _write_graph(model: Any, samples: Mapping[str, Any], file: Path) -> None:
    import onnx
    import torch

    pairs = torch.export.Dim("pairs", min=1, max=4096)
    tokens = torch.export.Dim("tokens", min=2, max=max_positions(model.config.to_dict()))
    program: Any = torch.onnx.export(
        model,
        (),
        kwargs=dict(samples),
        output_names=["logits"],
        dynamic_shapes={name: {0: pairs, 1: tokens} for name in samples},
        dynamo=True,
        verbose=False,
    )
    graph = program.model_proto
    # These are shapes of the samples, which contradict those of constants folded later.
    del graph.graph.value_info[:]
    onnx.save(graph, file)


def _largest_difference(file: Path, samples: Sequence[Mapping[str, Any]], expected: list[float]) -> float:
    """Returns the largest difference between the graph's logits and the expected ones."""
    session = load_runtime().InferenceSession(str(file), providers=["CPUExecutionProvider"])
    taken = [item.name for item in session.get_inputs()]
    answers = [session.run(None, {name: fed[name] for name in taken})[0] for fed in samples]
    logits: list[float] = [logit for answer in answers for logit in answer[:, 0].tolist()]
    return max(abs(logit - due) for logit, due in zip(logits, expected, strict=True))


@contextmanager
def _without_export_logs() -> Iterator[None]:
    """Suppresses the exporters' warnings about operators that no cross-encoder has."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with silence_libraries():
            yield
    finally:
        logging.disable(before)
