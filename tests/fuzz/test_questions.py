"""Whatever is asked: the client and the database answer, or refuse in one sentence."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.settings import load_settings
from tests.attack.world import World
from tests.fuzz.outcomes import outcome
from tests.fuzz.scale import tried
from tests.fuzz.values import EDGES, KEYS, MEGABYTE

pytestmark = pytest.mark.fuzz

PLANES = st.text(st.characters(), max_size=30)
"""Every character there is, NUL and halves of pairs among them."""

SYNTAX = st.lists(
    st.sampled_from(("a", "harbour", "&", "|", "!", "<->", "<2>", ":*", ":A", "(", ")", "'", '"', "\\", "%",
    "_", "-", "+", " ")),
    max_size=40,
).map("".join)  # fmt: skip

QUESTIONS = st.one_of(
    st.sampled_from(EDGES),
    PLANES,
    SYNTAX,
    st.tuples(st.sampled_from((*KEYS, "harbour", "Mira")), PLANES).map(" ".join),
    st.tuples(
        st.sampled_from(("x", "harbour ", "a.", "é", "🙂 ", "a & ", "'", "1 ")), st.integers(1, 12_000)
    ).map(lambda one: one[0] * (one[1] // len(one[0]))),
)


@pytest.fixture(scope="module")
def memory(shared_memory: Memory) -> Memory:
    shared_memory.remember(
        "the harbour contract", key=KEYS[0], title="Harbour", layer="entity", author="Mira"
    )
    shared_memory.remember("the crane of Mira", key=KEYS[1], title="Mira", aliases=[".*+?^${}()|[]\\"])
    return shared_memory


def test_any_question_is_answered_or_refused(memory: Memory, outcomes: Counter[str]) -> None:
    @tried(150)
    @given(QUESTIONS)
    def ask(question: str) -> None:
        said = outcome_of(memory, question)
        assert said in ("answered", "refused")
        outcomes[f"Memory.search: {said}"] += 1

    ask()


def test_ten_megabytes_are_refused(memory: Memory) -> None:
    assert outcome_of(memory, MEGABYTE * 10) == "refused"


def is_sentence(said: str) -> bool:
    return said.endswith(".") and "\n" not in said and len(said) < 400


def outcome_of(memory: Memory, question: str) -> str:
    try:
        memory.search(question, k=5)
        memory.search(queries=[question], hints=[question], k=5, log=False)
    except InvalidInput as refused:
        return "refused" if is_sentence(refused.message) else refused.message
    return "answered"


def test_any_text_is_answered_or_refused_by_sql(acme: World, outcomes: Counter[str]) -> None:
    texts = QUESTIONS.map(lambda text: text.replace("\x00", "").encode("utf-8", "replace").decode())

    @tried(100)
    @given(texts, texts)
    def ask(question: str, other: str) -> None:
        for sql, parameters in (
            ("SELECT * FROM recall.search(%s, p_explain => true)", (question,)),
            (
                "SELECT * FROM recall.find(%s)",
                (json.dumps({"query": question, "queries": [other], "hints": [other]}),),
            ),
            ("SELECT * FROM recall.queries_without_names(ARRAY[%s]::text[])", (question,)),
        ):
            outcomes[f"SQL: {outcome(acme.admin, sql, parameters)}"] += 1

    ask()


NAMES = (
    "pool_size",
    "connect_timeout",
    "timeout",
    "embedder",
    "http_port",
    "http_body_bytes",
    "tenant",
    "reranker",
)


def test_any_setting_is_taken_or_refused(outcomes: Counter[str]) -> None:
    @tried(150)
    @given(st.sampled_from(NAMES), st.one_of(st.sampled_from(EDGES), PLANES))
    def configure(name: str, value: str) -> None:
        outcomes[f"settings: {configured(name, value)}"] += 1

    configure()


def configured(name: str, value: str) -> str:
    try:
        load_settings(**{name: value})
    except InvalidInput as refused:
        named = f"PGRECALL_{name.upper()}" in refused.message
        return "refused" if named else refused.message
    return "answered"
