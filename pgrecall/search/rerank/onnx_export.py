"""A cross-encoder of torch becomes one of ONNX Runtime, its weights in 8-bit integers or as they were."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgrecall.errors import InvalidInput, RerankerError
from pgrecall.search.model_loading import first_line, places, quiet, require_package
from pgrecall.search.rerank.first_token import CLOSE, SAMPLES, encoded_samples, read_first_token_only
from pgrecall.search.rerank.quantization import round_weights

_WAY_OUT = "Give the folder of a cross-encoder with one score, as sentence-transformers saves it."


@dataclass(frozen=True, slots=True)
class Exported:
    """Where the model is, its bytes before and after, and how far the logit of a sample moved at most."""

    folder: Path
    bytes_before: int
    bytes_after: int
    moved: float


def export_onnx(folder: str | Path, out: str | Path, *, exact: bool = False) -> Exported:
    """Write the cross-encoder in ``folder`` to ``out`` for an OnnxReranker: model.onnx, tokenizer.json
    and its configuration. ``out`` appears whole or not at all.

    The graph in full precision must answer as the model does, before its weights are rounded to 8-bit
    integers; ``exact`` leaves them as they are.

    Raises:
        InvalidInput: ``out`` exists and is not empty, or lies in a folder that does not exist.
        MissingExtra: pgrecall[local] or pgrecall[onnx] is not installed.
        RerankerError: ``folder`` holds no cross-encoder, or it cannot be exported.
    """
    for package in ("torch", "transformers"):
        require_package(package, "local")
    for package in ("onnx", "onnxscript", "onnxruntime"):
        require_package(package, "onnx")
    source, target = Path(folder).expanduser().resolve(), Path(out).expanduser().resolve()
    if not (source / "config.json").is_file():
        raise RerankerError(f"The folder {source} holds no cross-encoder.", hint=_WAY_OUT)
    _require_free(target)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=target.parent) as workshop:
        try:
            with _silence():
                return _export(source, Path(workshop), target, exact)
        except RerankerError:
            raise
        except Exception as error:  # the libraries fail in any way they like
            raise RerankerError(
                f"The cross-encoder {source} could not be exported: {first_line(error)}.", hint=_WAY_OUT
            ) from error


def _require_free(target: Path) -> None:
    taken = target.exists() and (not target.is_dir() or any(target.iterdir()))
    if taken or not target.parent.is_dir():
        raise InvalidInput(
            f"The export cannot be written to {target}.",
            hint="Name a new or empty folder, in one that exists.",
        )


def _export(source: Path, workshop: Path, target: Path, exact: bool) -> Exported:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(source, local_files_only=True).float().eval()
    _require_single_score(model, source)
    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True)
    samples = encoded_samples(model, tokenizer)
    with torch.inference_mode():
        expected = model(**samples).logits[:, 0].tolist()
    read_first_token_only(model, tokenizer)
    plain, done = workshop / "plain.onnx", workshop / "done"
    _write_graph(model, samples, plain)
    together = {name: value.numpy() for name, value in samples.items()}
    if _furthest(plain, [together], expected) > CLOSE:
        raise RerankerError(
            f"The graph of the cross-encoder {source} does not answer as the model does.", hint=_WAY_OUT
        )
    tokenizer.save_pretrained(done)
    model.config.save_pretrained(done)
    if not (done / "tokenizer.json").is_file():
        raise RerankerError(f"The tokenizer of {source} has no fast form.", hint=_WAY_OUT)
    size = plain.stat().st_size
    limit = places(model.config.to_dict())
    alone = [
        dict(tokenizer(*pair, truncation=True, max_length=limit, return_tensors="np")) for pair in SAMPLES
    ]
    graph = done / "model.onnx"
    if exact:
        plain.replace(graph)
    else:
        round_weights(plain, graph, alone)
    moved = _furthest(graph, alone, expected)
    size_after = graph.stat().st_size
    done.replace(target)
    return Exported(target, size, size_after, moved)


def _require_single_score(model: Any, source: Path) -> None:
    """Of another kind of model the libraries make a cross-encoder whose head is random numbers."""
    names = model.config.architectures or [""]
    if not names[0].endswith("ForSequenceClassification") or model.config.num_labels != 1:
        raise RerankerError(
            f"The model {source} is not a cross-encoder with one score but a {names[0]} "
            f"with {model.config.num_labels}.",
            hint=_WAY_OUT,
        )


def _write_graph(model: Any, samples: Mapping[str, Any], file: Path) -> None:
    import onnx
    import torch

    pairs = torch.export.Dim("pairs", min=1, max=4096)
    tokens = torch.export.Dim("tokens", min=2, max=places(model.config.to_dict()))
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


def _furthest(file: Path, samples: Sequence[Mapping[str, Any]], expected: list[float]) -> float:
    """How far the graph's logits are from those expected, at most."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    taken = [item.name for item in session.get_inputs()]
    answers = [session.run(None, {name: fed[name] for name in taken})[0] for fed in samples]
    logits: list[float] = [logit for answer in answers for logit in answer[:, 0].tolist()]
    return max(abs(logit - due) for logit, due in zip(logits, expected, strict=True))


@contextmanager
def _silence() -> Iterator[None]:
    """Without the notes of exporters and quantizers on operators that no cross-encoder has."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with quiet():
            yield
    finally:
        logging.disable(before)
