"""Export of a cross-encoder from torch to ONNX Runtime, with its weights in 8-bit integers or unchanged.

Dynamic quantization rounds the input of a matrix to 256 steps between its least and its greatest number. In a
BERT a few outlier channels are many times as large as all others (five times in the feed-forward layers of
MiniLM), and leave the others few steps. So the outlier channels are multiplied in full precision, apart from
the rest, as LLM.int8() does on GPUs (Dettmers et al. 2022). On 7,500 pairs of chat this halved the error.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgrecall.errors import InvalidInput, RerankerError
from pgrecall.search.model_loading import first_line, max_positions, require_package, silence_libraries
from pgrecall.search.onnx_runtime import load_runtime
from pgrecall.search.rerank.first_token import (
    LOGIT_TOLERANCE,
    SAMPLES,
    encoded_samples,
    read_first_token_only,
)

if TYPE_CHECKING:
    import numpy as np

_HINT = "Give the folder of a cross-encoder with one score, as sentence-transformers saves it."

OUTLIER_CHANNELS = 8
"""Most channels of a matrix's input that are multiplied in full precision."""

MIN_OUTLIER_RATIO = 2.0
"""Least ratio of the largest channel to the largest one that is not an outlier."""

Inputs = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OnnxExport:
    """The folder of the model, its bytes before and after, and the largest change of a sample's logit."""

    folder: Path
    bytes_before: int
    bytes_after: int
    moved: float


EXPORT_STEPS = 6
"""Reading the model, asking it, writing its graph, comparing both, rounding the weights, comparing again."""


def export_onnx(
    folder: str | Path,
    out: str | Path,
    *,
    exact: bool = False,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> OnnxExport:
    """Write the cross-encoder in ``folder`` to ``out`` for an OnnxReranker: model.onnx, tokenizer.json
    and its configuration. ``out`` appears whole or not at all.

    The graph in full precision must answer as the model does, before its weights are rounded to 8-bit
    integers; ``exact`` leaves them as they are.

    Args:
        progress: called after each step with the steps that are done and those there are.

    Raises:
        InvalidInput: ``out`` exists and is not empty, or lies in a folder that does not exist.
        MissingExtra: pgrecall[onnx] is not installed.
        RerankerError: ``folder`` holds no cross-encoder, or it cannot be exported.
    """
    for package in ("torch", "transformers", "onnx", "onnxscript", "onnxruntime"):
        require_package(package, "onnx")
    source, target = Path(folder).expanduser().resolve(), Path(out).expanduser().resolve()
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
    """Refuse other models: the libraries would give them a head of random numbers."""
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
    # Shapes noted for the samples; those of constants folded later contradict them.
    del graph.graph.value_info[:]
    onnx.save(graph, file)


def _largest_difference(file: Path, samples: Sequence[Mapping[str, Any]], expected: list[float]) -> float:
    """The largest difference between the graph's logits and those expected."""
    session = load_runtime().InferenceSession(str(file), providers=["CPUExecutionProvider"])
    taken = [item.name for item in session.get_inputs()]
    answers = [session.run(None, {name: fed[name] for name in taken})[0] for fed in samples]
    logits: list[float] = [logit for answer in answers for logit in answer[:, 0].tolist()]
    return max(abs(logit - due) for logit, due in zip(logits, expected, strict=True))


@contextmanager
def _without_export_logs() -> Iterator[None]:
    """Suppress the exporters' notes on operators that no cross-encoder has."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with silence_libraries():
            yield
    finally:
        logging.disable(before)


def quantize_weights(file: Path, out: Path, samples: Iterable[Inputs]) -> None:
    """Write the graph in ``file`` to ``out`` with its matrices in 8 bits, one scale for each output channel;
    ``samples`` show which input channels are outliers."""
    import onnx

    load_runtime()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = onnx.load(file)
    peaks = _peaks(model, samples)
    exact: list[str] = []
    for name, results in _products(model.graph).items():
        if (outliers := _outlier_channels(peaks[name])) is not None:
            exact += _split_outliers(model.graph, name, results, outliers)
    split = out.with_suffix(".split")
    onnx.save(model, split)
    quantize_dynamic(
        split,
        out,
        nodes_to_exclude=exact,
        per_channel=True,
        reduce_range=True,  # a CPU without VNNI overflows on 8 bits times 8 bits
        weight_type=QuantType.QInt8,
    )
    split.unlink()


def _products(graph: Any) -> dict[str, list[str]]:
    """For each input of constant matrices, by name: the names of the products, in their order."""
    constants = {constant.name for constant in graph.initializer}
    found: dict[str, list[str]] = {}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in constants:
            found.setdefault(node.input[0], []).append(node.output[0])
    return found


def _peaks(model: Any, samples: Iterable[Inputs]) -> dict[str, np.ndarray]:
    """The greatest magnitude of each channel of each matrix's input."""
    import numpy as np
    from onnx import ModelProto, helper

    names = list(_products(model.graph))
    observed = ModelProto()
    observed.CopyFrom(model)
    observed.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    session = load_runtime().InferenceSession(
        observed.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    taken = {item.name for item in session.get_inputs()}
    peaks: dict[str, np.ndarray] = {}
    for fed in samples:
        values = session.run(names, {name: value for name, value in fed.items() if name in taken})
        for name, value in zip(names, values, strict=True):
            peak = np.abs(value).reshape(-1, value.shape[-1]).max(axis=0)
            peaks[name] = np.maximum(peaks.get(name, peak), peak)
    return peaks


def _outlier_channels(peaks: np.ndarray) -> np.ndarray | None:
    """The outlier channels, ascending; None where no channels stand out."""
    import numpy as np

    order = np.argsort(-peaks, kind="stable")
    if len(peaks) <= OUTLIER_CHANNELS or peaks[order[0]] < MIN_OUTLIER_RATIO * peaks[order[OUTLIER_CHANNELS]]:
        return None
    return np.sort(order[:OUTLIER_CHANNELS])


def _split_outliers(graph: Any, name: str, results: Sequence[str], outliers: np.ndarray) -> list[str]:
    """Turn each product x W into (x, 0 at the outliers) W + x[outliers] W[outliers]; returns the names
    of the latter."""
    import numpy as np
    from onnx import helper, numpy_helper

    constants = {constant.name: numpy_helper.to_array(constant) for constant in graph.initializer}

    def constant(called: str, value: np.ndarray) -> str:
        graph.initializer.append(numpy_helper.from_array(value, called))
        return called

    def in_two_parts(product: Any) -> list[Any]:
        matrix, result = product.input[1], product.output[0]
        part = constant(f"{result}_matrix", constants[matrix][outliers])
        product.input[0], product.output[0] = f"{name}_rest", f"{result}_rest"
        return [
            product,
            helper.make_node(
                "MatMul",
                [f"{name}_outlier_channels", part],
                [f"{result}_outlier_channels"],
                f"{result}_outlier_channels",
            ),
            helper.make_node("Add", [f"{result}_rest", f"{result}_outlier_channels"], [result]),
        ]

    nodes = []
    for node in graph.node:
        if node.output[0] == results[0]:
            rest = np.ones(len(constants[node.input[1]]), np.float32)
            rest[outliers] = 0
            mask, indices = constant(f"{name}_mask", rest), constant(f"{name}_indices", outliers)
            nodes.append(helper.make_node("Mul", [name, mask], [f"{name}_rest"]))
            nodes.append(helper.make_node("Gather", [name, indices], [f"{name}_outlier_channels"], axis=-1))
        nodes += in_two_parts(node) if node.output[0] in results else [node]
    del graph.node[:]
    graph.node.extend(nodes)
    return [f"{result}_outlier_channels" for result in results]
