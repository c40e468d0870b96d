"""Writes the default model as an ONNX graph: a BERT whose token states become one unit vector for each text.

python -m scripts.bert_graph            writes minilm.onnx and minilm-int8.onnx to pgrecall/search/embed
python -m scripts.bert_graph --check    exits with 1 if the files are not what they should be

The graphs hold no weights. They name them as model.safetensors does, and the embedder supplies them when it
loads a graph. That of 8 bits multiplies integers: it rounds what a linear map is given to 256 steps between
the least and the greatest number, and takes the weights as integers with a scale for each output
(``name.int8`` and ``name.scale``). The operators are those of opset 23; see https://onnx.ai/onnx/operators.

    BERT: J. Devlin, M.-W. Chang, K. Lee and K. Toutanova, 2019 (arXiv 1810.04805).
    MiniLM: W. Wang et al., 2020 (arXiv 2002.10957).
    Mean pooling: N. Reimers and I. Gurevych, 2019 (arXiv 1908.10084).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

FOLDER = Path(__file__).resolve().parents[1] / "pgrecall" / "search" / "embed"
TARGETS = {"minilm.onnx": False, "minilm-int8.onnx": True}
"""The files, and whether they multiply integers."""

# config.json of all-MiniLM-L6-v2
VOCABULARY, POSITIONS, TYPES = 30_522, 512, 2
HIDDEN, LAYERS, HEADS, WIDE = 384, 6, 12, 1536
EPSILON = 1e-12


class Graph:
    """Collects nodes, weights and constants; every method returns the name of its result."""

    def __init__(self, *, int8: bool) -> None:
        self.int8 = int8
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def node(self, operator: str, inputs: list[str], name: str, **attributes: Any) -> str:
        """An operator with one output, which has the name of the node."""
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def weight(self, name: str, *shape: int, kind: TensorProto.DataType = TensorProto.FLOAT) -> str:
        """A tensor of model.safetensors, of which the graph holds only the name and the shape."""
        tensor = TensorProto(name=name, data_type=kind, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="model.safetensors")
        self.initializers.append(tensor)
        return name

    def numbers(self, name: str, *values: int) -> str:
        """A constant vector of integers."""
        self.initializers.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        return name

    def linear(self, given: str, weights: str, inputs: int, outputs: int, name: str) -> str:
        """``given`` (rows, inputs) times the transposed weights, plus the bias."""
        if self.int8:
            product = self._product(given, f"{weights}.weight", inputs, outputs, name)
            return self.node("Add", [product, self.weight(f"{weights}.bias", outputs)], name)
        matrix = self.weight(f"{weights}.weight", outputs, inputs)
        return self.node("Gemm", [given, matrix, self.weight(f"{weights}.bias", outputs)], name, transB=1)

    def _product(self, given: str, matrix: str, inputs: int, outputs: int, name: str) -> str:
        """The product of integers, scaled back."""
        rounded, step, zero = (f"{name}.{part}" for part in ("rounded", "step", "zero"))
        node = helper.make_node(
            "DynamicQuantizeLinear", [given], [rounded, step, zero], name=f"{name}.rounding"
        )
        self.nodes.append(node)
        integers = self.weight(f"{matrix}.int8", inputs, outputs, kind=TensorProto.INT8)
        product = self.node("MatMulInteger", [rounded, integers, zero], f"{name}.integers")
        product = self.node("Cast", [product], f"{name}.float", to=TensorProto.FLOAT)
        scale = self.node("Mul", [step, self.weight(f"{matrix}.scale", outputs)], f"{name}.scale")
        return self.node("Mul", [product, scale], f"{name}.product")

    def add_and_normalize(self, one: str, other: str, weights: str, name: str) -> str:
        """The sum of both, with mean 0 and variance 1 in each row, then scaled and shifted."""
        scale, shift = (self.weight(f"{weights}.{part}", HIDDEN) for part in ("weight", "bias"))
        total = self.node("Add", [one, other], f"{name}.sum")
        return self.node("LayerNormalization", [total, scale, shift], name, axis=-1, epsilon=EPSILON)


def build(*, int8: bool) -> onnx.ModelProto:
    """The graph: from ``ids`` and ``mask`` (texts, tokens) to ``vectors`` (texts, 384) and ``states`` (texts,
    tokens, 384)."""
    graph = Graph(int8=int8)
    graph.numbers("zero", 0)
    graph.numbers("one", 1)
    rows = graph.numbers("rows", -1, HIDDEN)  # tokens of all texts, one below the other
    text_count = graph.node("Shape", ["ids"], "text_count", start=0, end=1)
    token_count = graph.node("Shape", ["ids"], "token_count", start=1, end=2)
    by_text = graph.node(
        "Concat", [text_count, token_count, graph.numbers("hidden", HIDDEN)], "by_text", axis=0
    )
    visible = _visible_tokens(graph, token_count)

    states = graph.node("Reshape", [_embeddings(graph, token_count), rows], "layer.0")
    for number in range(LAYERS):
        states = _layer(graph, states, visible, rows, by_text, number)

    graph.node("Reshape", [states, by_text], "states")
    _pooled(graph)
    return _model(graph)


def _embeddings(graph: Graph, token_count: str) -> str:
    """Word, position and type of each token; every token has the first type."""
    table = graph.weight("embeddings.word_embeddings.weight", VOCABULARY, HIDDEN)
    words = graph.node("Gather", [table, "ids"], "words")
    table = graph.weight("embeddings.position_embeddings.weight", POSITIONS, HIDDEN)
    positions = graph.node("Slice", [table, "zero", token_count, "zero"], "positions")
    table = graph.weight("embeddings.token_type_embeddings.weight", TYPES, HIDDEN)
    kind = graph.node("Slice", [table, "zero", "one", "zero"], "type")
    placed = graph.node("Add", [positions, kind], "places")
    return graph.add_and_normalize(words, placed, "embeddings.LayerNorm", "embeddings")


def _visible_tokens(graph: Graph, token_count: str) -> str:
    """(texts, 1, tokens, tokens): every token sees the tokens of its text, not the padding."""
    seen = graph.node("Cast", ["mask"], "mask.boolean", to=TensorProto.BOOL)
    seen = graph.node("Unsqueeze", [seen, graph.numbers("heads_and_rows", 1, 2)], "mask.columns")
    shape = graph.node("Concat", ["one", "one", token_count, "one"], "mask.shape", axis=0)
    return graph.node("Expand", [seen, shape], "mask.pairs")


def _layer(graph: Graph, given: str, visible: str, rows: str, by_text: str, number: int) -> str:
    """Self-attention, then two linear maps with GELU between; each adds to what it was given."""
    weights, name = f"encoder.layer.{number}", f"layer.{number + 1}"
    parts = []
    for part in ("query", "key", "value"):
        flat = graph.linear(given, f"{weights}.attention.self.{part}", HIDDEN, HIDDEN, f"{name}.{part}.rows")
        parts.append(graph.node("Reshape", [flat, by_text], f"{name}.{part}"))
    attended = graph.node(
        "Attention", [*parts, visible], f"{name}.attention", q_num_heads=HEADS, kv_num_heads=HEADS
    )
    attended = graph.node("Reshape", [attended, rows], f"{name}.attention.rows")
    attended = graph.linear(
        attended, f"{weights}.attention.output.dense", HIDDEN, HIDDEN, f"{name}.attention.projected"
    )
    attended = graph.add_and_normalize(
        attended, given, f"{weights}.attention.output.LayerNorm", f"{name}.attended"
    )

    wide = graph.linear(attended, f"{weights}.intermediate.dense", HIDDEN, WIDE, f"{name}.wide")
    narrow = graph.linear(
        graph.node("Gelu", [wide], f"{name}.gelu"), f"{weights}.output.dense", WIDE, HIDDEN, f"{name}.narrow"
    )
    return graph.add_and_normalize(narrow, attended, f"{weights}.output.LayerNorm", name)


def _pooled(graph: Graph) -> str:
    """The direction of the mean of a text's states, which is that of their sum."""
    weights = graph.node("Cast", ["mask"], "mask.weights", to=TensorProto.FLOAT)
    weights = graph.node("Unsqueeze", [weights, graph.numbers("columns", 2)], "mask.weights.columns")
    counted = graph.node("Mul", ["states", weights], "states.counted")
    total = graph.node("ReduceSum", [counted, "one"], "states.sum", keepdims=0)
    return graph.node("LpNormalization", [total], "vectors", axis=-1, p=2)


def _model(graph: Graph) -> onnx.ModelProto:
    def tensor(name: str, kind: int, *shape: str | int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, shape)

    made = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [tensor(name, TensorProto.INT64, "texts", "tokens") for name in ("ids", "mask")],
        [
            tensor("vectors", TensorProto.FLOAT, "texts", HIDDEN),
            tensor("states", TensorProto.FLOAT, "texts", "tokens", HIDDEN),
        ],
        graph.initializers,
    )
    # IR version 11 is the first that knows opset 23.
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def main(arguments: list[str]) -> int:
    """Write the graphs, or compare them with the files."""
    for name, int8 in TARGETS.items():
        content, target = build(int8=int8).SerializeToString(deterministic=True), FOLDER / name
        if arguments != ["--check"]:
            target.write_bytes(content)
        elif not target.is_file() or target.read_bytes() != content:
            sys.stderr.write(f"{target} is out of date: run python -m scripts.bert_graph\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
