"""What makes a cross-encoder faster: one token in its last layer, and 8-bit integers for most channels."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.integration.rerank.test_reranking_models import save_tiny


def lacks(*packages: str) -> bool:
    return any(importlib.util.find_spec(package) is None for package in packages)


with_torch = pytest.mark.skipif(lacks("transformers", "torch"), reason="pgrecall[local] is not installed")
with_onnx = pytest.mark.skipif(lacks("onnx", "onnxruntime"), reason="pgrecall[onnx] is not installed")

# The first token


def loaded(tmp_path: Path, kind: str = "BertForSequenceClassification", **config: Any) -> tuple[Any, Any]:
    """A tiny model of that kind with random weights, and a tokenizer for it."""
    import torch
    import transformers

    torch.manual_seed(7)
    tokenizer = transformers.AutoTokenizer.from_pretrained(save_tiny(tmp_path / "tiny"))
    made: Any = getattr(transformers, kind)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    chosen = made.config_class(
        vocab_size=len(tokenizer),
        **sizes,
        max_position_embeddings=64,
        type_vocab_size=2,
        num_labels=1,
        initializer_range=0.4,
        **config,
    )
    return made(chosen).eval(), tokenizer


def logits(model: Any, tokenizer: Any) -> Any:
    import torch

    encoded = tokenizer([("who signs", "the ferry to the harbour"), ("rain", "a")], padding=True)
    with torch.inference_mode():
        return model(**encoded.convert_to_tensors("pt")).logits


def widths(model: Any, tokenizer: Any) -> list[int]:
    """How many tokens the feed-forward part of each layer is given."""
    seen: list[int] = []
    inner = getattr(model, model.base_model_prefix)
    watches = [
        layer.intermediate.register_forward_hook(lambda _part, given, _made: seen.append(given[0].shape[1]))
        for layer in inner.encoder.layer
    ]
    logits(model, tokenizer)
    for watch in watches:
        watch.remove()
    return seen


@with_torch
@pytest.mark.parametrize(
    "kind",
    [
        "BertForSequenceClassification",
        "XLMRobertaForSequenceClassification",
        "ElectraForSequenceClassification",
    ],
)
def test_the_last_layer_reads_one_token_and_the_logits_stay(tmp_path: Path, kind: str) -> None:
    from pgrecall.search.rerank.first_token import read_first_token_only

    model, tokenizer = loaded(tmp_path, kind)
    expected, (before, also) = logits(model, tokenizer), widths(model, tokenizer)
    assert before == also > 1
    assert read_first_token_only(model, tokenizer)
    assert widths(model, tokenizer) == [before, 1]
    assert logits(model, tokenizer).flatten().tolist() == pytest.approx(expected.flatten().tolist(), abs=1e-5)
    assert len(set(expected.flatten().tolist())) == 2, "the model tells nothing apart, and the test neither"


@with_torch
def test_a_head_that_reads_all_tokens_keeps_its_layers(tmp_path: Path) -> None:
    import torch

    from pgrecall.search.rerank.first_token import read_first_token_only

    class Mean(torch.nn.Module):
        """The mean of all tokens in place of the first."""

        def forward(self, hidden: Any) -> Any:
            return hidden.mean(dim=1)

    model, tokenizer = loaded(tmp_path)
    model.bert.pooler = Mean()
    expected = logits(model, tokenizer)
    assert not read_first_token_only(model, tokenizer)
    assert torch.equal(logits(model, tokenizer), expected)
    assert len(set(widths(model, tokenizer))) == 1


@with_torch
def test_a_layer_of_another_make_is_left_alone(tmp_path: Path) -> None:
    import torch

    from pgrecall.search.rerank.first_token import read_first_token_only

    model, tokenizer = loaded(tmp_path)
    expected = logits(model, tokenizer)
    model.bert.encoder.layer[-1].attention.self.attention_head_size = 5  # of which 32 is no multiple
    model.bert.encoder.layer[-1].attention.self.forward = lambda hidden, *_, **__: (hidden, None)
    assert not read_first_token_only(model, tokenizer)
    del model.bert.encoder.layer[-1].attention.self.forward
    model.bert.encoder.layer[-1].attention.self.attention_head_size = 8
    assert torch.equal(logits(model, tokenizer), expected)


# 8 bits


def two_products(folder: Path, generator: np.random.Generator) -> tuple[Path, np.ndarray]:
    """A graph of x A and x B side by side, and [A B]."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    both = generator.normal(size=(64, 48)).astype(np.float32)
    constants = [numpy_helper.from_array(both[:, :32], "A"), numpy_helper.from_array(both[:, 32:], "B")]
    nodes = [
        helper.make_node("MatMul", ["x", "A"], ["xA"], "first"),
        helper.make_node("MatMul", ["x", "B"], ["xB"], "second"),
        helper.make_node("Concat", ["xA", "xB"], ["y"], axis=-1),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["pairs", "tokens", 64])
    answer = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["pairs", "tokens", 48])
    graph = helper.make_graph(nodes, "two", [given], [answer], constants)
    file = folder / "plain.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file, both


def operators(file: Path) -> list[str]:
    import onnx

    return [node.op_type for node in onnx.load(file).graph.node]


def worst(file: Path, x: np.ndarray, expected: np.ndarray) -> float:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    return float(np.abs(session.run(None, {"x": x})[0] - expected).max())


@with_onnx
@pytest.mark.parametrize("large", [[5], [3, 17, 40, 63]])
def test_large_channels_do_not_drown_the_others(tmp_path: Path, large: list[int]) -> None:
    from pgrecall.search.rerank.onnx_quantization import quantize_weights

    generator = np.random.default_rng(3)
    file, both = two_products(tmp_path, generator)
    x = generator.normal(size=(1, 20, 64)).astype(np.float32)
    out = tmp_path / "rounded.onnx"
    quantize_weights(file, out, [{"x": x}])
    even = worst(out, x, x @ both)
    assert 0 < even < 0.5
    assert "Gather" not in operators(out), "nothing stands out, and something was set apart"
    x[..., large] *= 40
    drowned = worst(out, x, x @ both)
    out = tmp_path / "apart.onnx"
    quantize_weights(file, out, [{"x": x[:, :10]}, {"x": x[:, 10:]}])
    assert operators(out).count("Gather") == 1, "both products read the same channels"
    assert operators(out).count("MatMul") == 2
    assert worst(out, x, x @ both) < 1.5 * even < drowned / 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["apart.onnx", "plain.onnx", "rounded.onnx"]


@with_onnx
def test_channels_stay_apart_only_where_it_pays(tmp_path: Path) -> None:
    from pgrecall.search.rerank.onnx_quantization import OUTLIER_CHANNELS, quantize_weights

    generator = np.random.default_rng(4)
    file, _ = two_products(tmp_path, generator)
    x = generator.normal(size=(1, 20, 64)).astype(np.float32)
    x[..., : OUTLIER_CHANNELS + 1] *= 40  # setting OUTLIER_CHANNELS of them apart leaves one
    quantize_weights(file, tmp_path / "rounded.onnx", [{"x": x}])
    assert "Gather" not in operators(tmp_path / "rounded.onnx")
