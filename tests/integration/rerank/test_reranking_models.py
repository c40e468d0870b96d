"""The local and the ONNX reranker with a tiny cross-encoder that the test makes itself."""

from __future__ import annotations

import importlib.util
import json
import logging
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pgrecall.errors import InvalidInput, MissingExtra, RerankerError
from pgrecall.search.model_loading import SharedModels
from pgrecall.search.rerank import local as reranking_local
from pgrecall.search.rerank.local import LocalReranker
from pgrecall.search.rerank.onnx import OnnxReranker
from pgrecall.search.rerank.reranker import Reranker, make_reranker, try_rerank, warm_up
from pgrecall.search.rerank.scores import RerankCandidate, RerankOutcome
from pgrecall.settings import Settings


def lacks(*packages: str) -> bool:
    return any(importlib.util.find_spec(package) is None for package in packages)


pytestmark = [
    pytest.mark.timeout(600),  # torch's exporter alone takes seconds, and minutes on a busy machine
    pytest.mark.skipif(lacks("sentence_transformers"), reason="pgrecall[local] is not installed"),
]
with_onnx = pytest.mark.skipif(
    lacks("onnx", "onnxscript", "onnxruntime"), reason="pgrecall[onnx] is not installed"
)

WORDS = [
    "the", "a", "ferry", "to", "harbour", "leaves", "at", "noon", "who", "signs", "contract", "on", "friday",
    "knots", "gauge", "rain", "keys", "rotate",
]  # fmt: skip
QUERY = "who signs the contract on friday"
TEXTS = [
    " ".join(WORDS[(start * step) % len(WORDS)] for step in range(1, 1 + 3 * start)) for start in range(1, 19)
]


def save_tiny(folder: Path, *, labels: int = 1, kind: str = "BertForSequenceClassification") -> Path:
    """A random BERT of two layers and 32 numbers a token, large enough weights to tell texts apart."""
    import torch
    import transformers

    torch.manual_seed(11)
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join([*marks, *WORDS]) + "\n")
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=512)
    config = transformers.BertConfig(
        vocab_size=len(marks) + len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=48,
        num_labels=labels,
        initializer_range=0.4,
    )
    getattr(transformers, kind)(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny-cross-encoder")


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command ``pgrecall`` in a process of its own, as a shell runs it."""
    return subprocess.run(
        [sys.executable, "-c", "from pgrecall.faces.cli.main import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def exporting(folder: Path) -> subprocess.CompletedProcess[str]:
    """The command that made what the tests of ONNX read."""
    return command("models", "export-onnx", folder, folder.parent / "tiny-onnx")


@pytest.fixture(scope="module")
def exported(folder: Path, exporting: subprocess.CompletedProcess[str]) -> Path:
    assert exporting.returncode == 0, exporting.stderr
    return folder.parent / "tiny-onnx"


def candidates(texts: Sequence[str] = TEXTS) -> list[RerankCandidate]:
    return [RerankCandidate(place, text) for place, text in enumerate(texts)]


def scores(reranker: Reranker, texts: Sequence[str] = TEXTS, query: str = QUERY) -> list[float]:
    """The logits in the order of the texts."""
    outcome = reranker.rerank(query, candidates(texts), top_n=len(texts))
    assert outcome.complete
    return [score.score for score in sorted(outcome.scores, key=lambda score: score.id)]


def exact(folder: Path) -> LocalReranker:
    """A reranker with the same number format on every processor."""
    return LocalReranker(str(folder), precision="float32")


def bare_logits(folder: Path, texts: Sequence[str] = TEXTS) -> list[float]:
    """The same by another road: transformers alone, one pair at a time."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        return [
            model(**tokenizer(QUERY, text, truncation=True, max_length=48, return_tensors="pt")).logits.item()
            for text in texts
        ]


def test_its_scores_are_the_bare_logits_of_the_model(folder: Path) -> None:
    found = scores(exact(folder))
    assert found == pytest.approx(bare_logits(folder), abs=1e-4)
    assert max(found) - min(found) > 0.5, "the model tells nothing apart, and the test neither"
    assert min(found) < 0 or max(found) > 1, "an activation was applied"


def test_a_folder_that_names_an_activation_still_gives_logits(folder: Path, tmp_path: Path) -> None:
    named = shutil.copytree(folder, tmp_path / "with-sigmoid")
    config = json.loads((named / "config.json").read_text())
    config["sentence_transformers"] = {"activation_fn": "torch.nn.modules.activation.Sigmoid"}
    (named / "config.json").write_text(json.dumps(config))
    assert scores(exact(named)) == pytest.approx(bare_logits(folder), abs=1e-4)


def test_the_best_come_first(folder: Path) -> None:
    outcome = exact(folder).rerank(QUERY, candidates(), top_n=4, deadline=60)
    expected = bare_logits(folder)
    best = sorted(range(len(TEXTS)), key=lambda place: -expected[place])[:4]
    assert [score.id for score in outcome.scores] == best
    assert [score.original_rank for score in outcome.scores] == [place + 1 for place in best]


def test_a_neighbour_does_not_change_a_score(folder: Path) -> None:
    alone = [scores(exact(folder), [text])[0] for text in TEXTS]
    assert scores(exact(folder)) == pytest.approx(alone, abs=1e-4)


@pytest.mark.parametrize("tokens", [16, 512])
def test_long_texts_are_cut_at_what_the_model_can_place(folder: Path, tokens: int) -> None:
    reranker = LocalReranker(str(folder), tokens=tokens)
    long, longer = " ".join(WORDS * 4), " ".join(WORDS * 4000)
    one, other = scores(reranker, [long, longer])
    assert one == pytest.approx(other, abs=1e-4)


def test_any_text_can_be_read(folder: Path) -> None:
    assert len(scores(LocalReranker(str(folder)), ["", "🙂 日本", "half \ud83d", "\x00"], "")) == 4


def test_lower_precision_is_near(folder: Path) -> None:
    exact = scores(LocalReranker(str(folder), precision="float32"))
    near = scores(LocalReranker(str(folder), precision="bfloat16"))
    assert near != exact
    assert near == pytest.approx(exact, abs=0.25)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is loaded during the test, which begins without a loaded model."""
    keys: list[object] = []

    def noted(key: Any) -> Any:
        keys.append(key)
        return reranking_local._load(key)

    monkeypatch.setattr(reranking_local, "_models", SharedModels(noted))
    return keys


def test_threads_load_one_model_and_agree(folder: Path, loaded: list[object]) -> None:
    results: list[list[float]] = []
    threads = [
        threading.Thread(target=lambda: results.append(scores(LocalReranker(str(folder))))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loaded) == 1
    assert len(results) == 6
    for result in results:
        assert result == pytest.approx(results[0], abs=1e-5)


def test_warming_up_loads_the_model(folder: Path, loaded: list[object]) -> None:
    reranker = LocalReranker(str(folder))
    assert loaded == [], "it was loaded before it was needed"
    warm_up(reranker)
    assert len(loaded) == 1


def test_the_default_model_is_named_and_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    reranker = LocalReranker()
    outcome = try_rerank(reranker, QUERY, candidates(), top_n=3, deadline=None)
    assert outcome == RerankOutcome(
        (),
        False,
        "The cross-encoder cross-encoder/ms-marco-MiniLM-L-6-v2 is not on this machine. Download it once "
        "with `hf download cross-encoder/ms-marco-MiniLM-L-6-v2`, or give the folder of a cross-encoder as "
        "PGRECALL_RERANKER_MODEL.",
    )


@pytest.mark.parametrize(
    ("labels", "kind", "sentence"),
    [
        (1, "BertModel", "is not a cross-encoder but a BertModel"),
        (3, "BertForSequenceClassification", "sorts pairs into 3 classes"),
    ],
)
def test_a_model_of_another_kind_is_refused(
    tmp_path: Path, labels: int, kind: str, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    other = save_tiny(tmp_path / "other", labels=labels, kind=kind)
    with pytest.raises(RerankerError, match=sentence) as caught:
        LocalReranker(str(other)).rerank(QUERY, candidates(), top_n=3)
    assert str(other) in str(caught.value)
    assert "PGRECALL_RERANKER_MODEL" in caught.value.hint
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_broken_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(RerankerError, match="holds no cross-encoder"):
        LocalReranker(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(RerankerError) as caught:
        LocalReranker(str(tmp_path)).rerank(QUERY, candidates(), top_n=3)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_few_tokens_are_refused(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="8 tokens"):
        LocalReranker(str(folder), tokens=8)


def test_settings_make_a_local_one(folder: Path) -> None:
    made = make_reranker(Settings(reranker="local", reranker_model=str(folder), reranker_pairs=3))
    assert isinstance(made, LocalReranker)
    assert (made.name, made.scale) == ("tiny-cross-encoder", "logit")
    assert len(made.rerank(QUERY, candidates(), top_n=9).scores) == 3


# ONNX


def correlation(one: Sequence[float], other: Sequence[float]) -> float:
    import numpy as np

    return float(np.corrcoef(one, other)[0, 1])


@with_onnx
def test_eight_bits_say_nearly_what_the_model_says(folder: Path, exported: Path) -> None:
    assert {file.name for file in exported.iterdir()} >= {"model.onnx", "tokenizer.json", "config.json"}
    found = scores(OnnxReranker(exported))
    expected = bare_logits(folder)
    assert found != expected
    assert correlation(found, expected) > 0.98
    assert found == pytest.approx(expected, abs=0.5)


@with_onnx
def test_a_neighbour_does_not_change_a_score_of_eight_bits(exported: Path) -> None:
    reranker = OnnxReranker(exported)
    assert scores(reranker) == [scores(reranker, [text])[0] for text in TEXTS]


@with_onnx
def test_onnx_reads_what_the_model_can_place(exported: Path) -> None:
    reranker = OnnxReranker(exported)
    one, other = scores(reranker, [" ".join(WORDS * 4), " ".join(WORDS * 4000)])
    assert one == other
    assert len(scores(reranker, ["", "🙂 日本", "half \ud83d", "\x00"], "")) == 4


@with_onnx
def test_threads_share_an_onnx_model(exported: Path) -> None:
    results: list[list[float]] = []
    threads = [
        threading.Thread(target=lambda: results.append(scores(OnnxReranker(exported)))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert all(result == results[0] for result in results)


@with_onnx
def test_a_folder_as_the_hub_has_them_is_read(exported: Path, tmp_path: Path) -> None:
    shutil.copy(exported / "tokenizer.json", tmp_path / "tokenizer.json")
    shutil.copy(exported / "config.json", tmp_path / "config.json")
    (tmp_path / "onnx").mkdir()
    shutil.copy(exported / "model.onnx", tmp_path / "onnx" / "model_qint8_avx512.onnx")
    (tmp_path / "onnx" / "model.onnx").write_bytes(b"not to be read")
    assert scores(OnnxReranker(tmp_path)) == scores(OnnxReranker(exported))


@with_onnx
def test_broken_onnx_folders_are_named(exported: Path, tmp_path: Path) -> None:
    with pytest.raises(RerankerError, match=r"holds no model\.onnx"):
        OnnxReranker(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"nonsense")
    with pytest.raises(RerankerError, match=r"holds no tokenizer\.json") as caught:
        OnnxReranker(tmp_path)
    assert "pgrecall models export-onnx" in caught.value.hint
    shutil.copy(exported / "tokenizer.json", tmp_path / "tokenizer.json")
    with pytest.raises(RerankerError, match="could not be loaded") as caught:
        OnnxReranker(tmp_path).rerank(QUERY, candidates(), top_n=3)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


@with_onnx
def test_a_graph_with_several_classes_is_refused(exported: Path, tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["pairs", "tokens"])
    answer = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", "tokens"])
    cast = helper.make_node("Cast", ["input_ids"], ["logits"], to=TensorProto.FLOAT)
    graph = helper.make_graph([cast], "several", [ids], [answer])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, tmp_path / "model.onnx")
    shutil.copy(exported / "tokenizer.json", tmp_path / "tokenizer.json")
    with pytest.raises(RerankerError, match="not with one score"):
        OnnxReranker(tmp_path).rerank(QUERY, candidates(), top_n=3)


@with_onnx
def test_an_export_appears_whole_or_not_at_all(folder: Path, exported: Path, tmp_path: Path) -> None:
    from pgrecall.search.rerank.onnx_export import export_onnx

    before = (exported / "model.onnx").read_bytes()
    with pytest.raises(InvalidInput, match="cannot be written"):
        export_onnx(folder, exported)
    assert (exported / "model.onnx").read_bytes() == before
    with pytest.raises(InvalidInput, match="cannot be written"):
        export_onnx(folder, tmp_path / "no" / "such" / "place")
    bare = save_tiny(tmp_path / "bare", kind="BertModel")
    with pytest.raises(RerankerError, match="is not a cross-encoder with one score but a BertModel"):
        export_onnx(bare, tmp_path / "out")
    with pytest.raises(RerankerError, match="holds no cross-encoder"):
        export_onnx(tmp_path, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["bare"]


@with_onnx
def test_the_command_says_what_it_exported(
    exporting: subprocess.CompletedProcess[str], exported: Path
) -> None:
    assert str(exported) in exporting.stdout.replace("\n", "")
    assert "logits of samples moved by" in exporting.stdout
    assert "PGRECALL_RERANKER=onnx" in exporting.stderr.replace("\n", "")
    assert "Warning" not in exporting.stderr, "what the libraries say is theirs"


@with_onnx
def test_the_command_refuses_in_one_sentence(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("mine")
    for given, out, fault in [
        (folder, tmp_path / "taken", "cannot be written"),
        (tmp_path, tmp_path / "out", "holds no cross-encoder"),
        (tmp_path / "absent", tmp_path / "out", "holds no cross-encoder"),
    ]:
        done = command("models", "export-onnx", given, out)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert fault in done.stderr.replace("\n", " ")
        assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@with_onnx
def test_settings_make_an_onnx_one(exported: Path) -> None:
    made = make_reranker(Settings(reranker="onnx", reranker_model=str(exported), reranker_pairs=3))
    assert isinstance(made, OnnxReranker)
    assert len(made.rerank(QUERY, candidates(), top_n=9).scores) == 3


ALONE = """
import sys
def audit(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise RuntimeError(f"touched the network: {event} {arguments}")
sys.addaudithook(audit)
from pgrecall.search.rerank.onnx import OnnxReranker
from pgrecall.search.rerank.scores import RerankCandidate
outcome = OnnxReranker(sys.argv[1]).rerank("who signs", [RerankCandidate(1, "the contract")], top_n=1)
assert len(outcome.scores) == 1
assert not {"torch", "transformers", "sentence_transformers", "onnx"} & set(sys.modules)
"""


@with_onnx
def test_onnx_needs_no_torch_and_no_network_and_says_nothing(exported: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, exported], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not lacks("onnxruntime"), reason="pgrecall[onnx] is installed")
def test_without_the_extra_it_is_named(folder: Path) -> None:
    with pytest.raises(MissingExtra, match=r"\[onnx\]"):
        OnnxReranker(folder)
