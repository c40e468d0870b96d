"""Queries about what the assistant said and about what was asked: how they are told, and what they find."""

from __future__ import annotations

import pytest

from pgrecall import Draft, Memory
from tests.databases import Query


@pytest.mark.parametrize(
    ("asked", "speaker"),
    [
        ("what did you want me to look at first?", "assistant"),
        ("the trick u gave me for the nights", "assistant"),
        ("your four paragraphs for the letter, how did they go?", "assistant"),
        ("which fish am I allowed, according to you?", "assistant"),
        ("you'd named a distance for the machine", "assistant"),
        ("Was hattest du zu den alten Bändern gesagt?", "assistant"),
        ("Was hast du zum Gurgeln empfohlen?", "assistant"),
        ("hab ich dir schon mal vom Garten erzählt?", "user"),
        ("cómo era el mensaje que me armaste", "assistant"),
        ("didn't you warn me about the lease?", "assistant"),
        ("what was your answer when I asked about the visa", "assistant"),
        ("was hast du geantwortet, als ich nach dem Visum gefragt habe", "assistant"),
        ("du hast mal einen Podcast erwähnt", "assistant"),
        ("that pasta idea of yours, what went in it", "assistant"),
        ("una vez me hablaste de un podcast", "assistant"),
        ("what do you think about slate?", None),
        ("did you know that slate burns?", None),
        ("Hast du Zeit am Freitag?", None),
        ("what did she say about slate?", None),
    ],
)
def test_whose_words_a_query_asks_for(query: Query, asked: str, speaker: str | None) -> None:
    [row] = query("SELECT (recall_private.query_intent(%s)).speaker", (asked,))
    assert row["speaker"] == speaker


@pytest.mark.parametrize(
    ("asked", "about_questions"),
    [
        ("did Bex ask how we share the electricity?", True),
        ("has anyone asked about the deposit?", True),
        ("was there a question of mine about timecodes?", True),
        ("wollte Jette wissen, ob wir verkaufen?", True),
        ("hab ich dich mal nach Fencheltee gefragt?", True),
        ("hat Malte sich nach dem Futter vom Dackel erkundigt?", True),
        ("was wollte ich wegen der Zeugnisse von dir?", True),
        ("hab ich dir von Tee erzählt?", False),
        ("what was your answer when I asked about the visa", False),
        ("when did I ask about the visa", True),
        ("¿quise saber quién acude de madrugada?", True),
        ("who asked whether we sell?", True),
        ("did Bex ask for a raise?", False),
        ("who asked Bex to the dance?", False),
        ("what would she want to know?", False),
    ],
)
def test_which_queries_are_about_questions(query: Query, asked: str, about_questions: bool) -> None:
    [row] = query("SELECT (recall_private.query_intent(%s)).about_questions", (asked,))
    assert row["about_questions"] is about_questions


def test_a_query_about_questions_finds_them_before_statements_and_is_no_surer(memory: Memory) -> None:
    memory.remember("The landlord answers within a week.", role="user", key="said")
    memory.remember("What can I do about a landlord who does not answer?", role="user", key="asked")
    memory.remember("Will the landlord answer? He is away. Mia says so.", role="user", key="both")
    memory.remember_many([Draft(f"Note {n} on the garden, bed {n}.") for n in range(20)])

    plain = memory.search("landlord answer", k=3)
    about = memory.search("did I ask about the landlord and his answer?", k=3)

    plain_terms, terms = (
        {hit.key: hit.explanation["relevance"]["question"] for hit in found.hits} for found in (plain, about)
    )
    assert plain_terms == {"said": 0, "both": 0, "asked": -4.5}
    assert terms == {"asked": 4.5, "both": 2.25, "said": 0}
    assert [plain.hits[2].key, about.hits[2].key] == ["asked", "said"]
    nothing = memory.search("did I ask about the plumber and his invoice?")
    assert not nothing.answered


def test_the_speaker_that_a_query_asks_for_is_little_evidence_of_an_answer(memory: Memory) -> None:
    memory.remember("The kiln is at 1,220 degrees then.", role="assistant", key="remark")
    memory.remember_many([Draft(f"Note {n} on the garden, bed {n}.", role="user") for n in range(20)])

    recalled = memory.search("What did you tell me about the kiln?")
    absent = memory.search("What did you tell me about the pension?")

    assert recalled.hits[0].explanation["relevance"]["speaker"] == 2.85
    assert recalled.answered
    assert not absent.answered
