"""The same question in two languages: a bilingual model in a folder, configured by path."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import pytest

from pgrecall import Memory
from pgrecall.settings import load_settings
from tests.conftest import DIMENSIONS

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("sentence_transformers") is None, reason="pgrecall[local] is not installed"
    ),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

# Each line is one meaning; its words share a direction, as in aligned word vectors.
DICTIONARY = """
captain capitán
sleeps sleep duerme
lighthouse faro
pump bomba
mends repara
sister hermana
song canción
sings canta
winter invierno
"""
ENGLISH = {
    "captain": "The captain sleeps at the lighthouse",
    "sister": "The sister mends the pump",
    "song": "A song that he sings when winter comes",
}
SPANISH = {
    "captain": "dónde duerme el capitán",
    "sister": "quién repara la bomba",
    "song": "qué canción canta en invierno",
}
SAME_IN_ENGLISH = {
    "captain": "where does the captain sleep",
    "sister": "who mends the pump",
    "song": "which song is it that he sings in winter",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers model that knows these words and no others: the mean of their directions."""
    import numpy
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, WordEmbeddings
    from sentence_transformers.models.tokenizer import WhitespaceTokenizer

    meanings = [line.split() for line in DICTIONARY.split("\n") if line]
    words = [word for meaning in meanings for word in meaning]
    directions = numpy.zeros((len(words), DIMENSIONS))
    for place, word in enumerate(words):
        directions[place, next(i for i, meaning in enumerate(meanings) if word in meaning)] = 1
    tokenizer = WhitespaceTokenizer(vocab=words, stop_words=set(), do_lower_case=True)
    model = SentenceTransformer(
        modules=[WordEmbeddings(tokenizer, directions), Pooling(DIMENSIONS)], device="cpu"
    )
    path = tmp_path_factory.mktemp("models") / "bilingual"
    model.save(str(path))
    return path


@pytest.fixture
def bilingual(folder: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", database_url)
    monkeypatch.setenv("PGRECALL_EMBEDDER_MODEL", str(folder))
    return Memory(settings=load_settings())


def test_a_question_finds_the_same_memory_in_either_language(bilingual: Memory) -> None:
    with bilingual as memory:
        for key, body in ENGLISH.items():
            memory.remember(body, key=key)
        for key in ENGLISH:
            asked, in_english = memory.search(SPANISH[key]), memory.search(SAME_IN_ENGLISH[key])
            assert asked.hits[0].key == in_english.hits[0].key == key
            assert asked.skipped == ()
            similarity = asked.hits[0].explanation["arms"]["semantic"]["similarity"]
            assert math.isclose(
                similarity, in_english.hits[0].explanation["arms"]["semantic"]["similarity"], abs_tol=1e-3
            )
            assert "lexical" not in asked.hits[0].explanation["arms"]
        assert memory.status().embedder == "bilingual"


def test_memories_in_two_languages_are_found_by_either(bilingual: Memory) -> None:
    with bilingual as memory:
        memory.settings.set_language("spanish")
        memory.remember("El capitán duerme en el faro", key="spanish")
        memory.remember("The captain sleeps at the lighthouse", key="english")
        memory.remember("La hermana repara la bomba", key="other")
        for question in ("where does the captain sleep", "dónde duerme el capitán"):
            assert {hit.key for hit in memory.search(question, k=2).hits} == {"spanish", "english"}
