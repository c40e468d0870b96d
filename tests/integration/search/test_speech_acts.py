"""What a memory says, found out when it is stored, and what a search makes of it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pgrecall import Memory
from pgrecall.errors import InvalidInput
from pgrecall.importers.detect import open_source
from pgrecall.nouns.memories.models import Draft, DraftLink
from tests.databases import Query

pytestmark = pytest.mark.in_turns

DAY = datetime(2026, 3, 1, tzinfo=UTC)

RULES = [
    Draft("Always answer in two sentences.", role="user", key="rule-0"),
    Draft("Please never use emojis.", role="user", key="rule-1"),
    Draft("From now on, call me Jo.", role="user", key="rule-2"),
]


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("Always give version numbers when I ask about libraries.", "instruction"),
        ("From now on, answer in two sentences.", "instruction"),
        ("please never suggest restaurants with a dress code", "instruction"),
        ("Bitte immer mit Quellenangabe.", "instruction"),
        ("Antworte mir nur auf Deutsch", "instruction"),
        ("De ahora en adelante, respóndeme en español.", "instruction"),
        ("I would ask that you keep to one question.", "instruction"),
        ("ask me before you order anything", "instruction"),
        ("don't just fix it, show me the next step", "instruction"),
        ("Nothing with plastic please.", "instruction"),
        ("Kurze Sätze, das gilt für alles", "instruction"),
        ("always cc Martha on anything about invoices", "instruction"),
        ("you should ask before deleting any file", "instruction"),
        ("vor neun brauchst du mir keine Termine legen", "instruction"),
        ("cuando des una fecha añade el día de la semana", "instruction"),
        ("Choir is on Mondays from now on", "change"),
        ("Der Schlüssel hängt ab sofort beim Bäcker", "change"),
        ("I won't just use the factor since that's for all of them", "statement"),
        ("I can't stand coriander.", "preference"),
        ("My doctor has me off salt", "preference"),
        ("I get sick on small boats", "preference"),
        ("no nuts, no seeds, no sesame", "preference"),
        ("a mí el pulpo me hincha los labios", "preference"),
        ("Große Hallen gehen bei mir nicht", "preference"),
        ("I'm more of a tea person", "preference"),
        ("lectures bore me, I learn by doing", "preference"),
        ("mir wird auf Booten schlecht", "preference"),
        ("wir deployen freitags nicht", "preference"),
        ("los sábados suelo comprar en el mercado", "preference"),
        ("my son is allergic to walnuts, so no walnuts", "preference"),
        ("Ich mag keine Oliven.", "preference"),
        ("No soporto el cilantro", "preference"),
        ("What is the wifi password of the guest network?", "question"),
        ("wie heißt der Hund von Anna", "question"),
        ("¿Cuándo llega el tren?", "question"),
        ("Find me a hotel in Lisbon", "question"),
        ("u know when the bins get picked up", "question"),
        ("hab ich das Auto abgeschlossen", "question"),
        ("me puedes decir cuánto dura el vuelo", "question"),
        ("what I need is a new bike", "statement"),
        ("How to reset the router: hold the button for ten seconds", "statement"),
        ("Hay leche en la nevera", "statement"),
        ("Who do I ask about a year abroad? Like Japan", "question"),
        ("Is there anything else he could be allergic to? The boy", "question"),
        ("What can I cook? The boy is allergic to milk", "preference"),
        ("I'm a vegetarian, what can I cook?", "preference"),
        ("Where is the winch? The shed is empty.", "statement"),
        ("thanks, perfect!", "acknowledgement"),
        ("You'd see that in the contract, I've no way of knowing.", "acknowledgement"),
        ("alles klar, danke", "acknowledgement"),
        ("exactly, thank you for explaining", "acknowledgement"),
        ("Prima, danke für die Erklärung", "acknowledgement"),
        ("perfecto, justo lo que necesitaba", "acknowledgement"),
        ("thanks a million!", "acknowledgement"),
        ("Thank you so much for the help again", "acknowledgement"),
        ("that saved my day", "acknowledgement"),
        ("mil gracias, eres un sol", "acknowledgement"),
        ("A million.", "statement"),
        ("Yes, a ton", "statement"),
        ("Good, again tomorrow", "statement"),
        ("You saved my son", "statement"),
        ("Eres la hermana.", "statement"),
        ("Mil.", "statement"),
        ("👍", "acknowledgement"),
        ("hab ich verstanden, danke", "acknowledgement"),
        ("lass das letzte Bild weg, sonst passt alles", "statement"),
        ("actually it was Petra who found it, not me", "statement"),
        ("The wifi password is heron-42.", "statement"),
        ("No queda nada de leche", "statement"),
        ("Casi no dijo nada de la boda", "statement"),
        ("Mi abuela siempre me daba galletas", "statement"),
        ("El piso está alquilado para siempre", "statement"),
        ("Nothing before the merger was archived", "statement"),
        ("No exceptions were thrown by the parser", "statement"),
        ("Unless I am wrong, the pump is in the cellar", "statement"),
        ("Give and take, not win and lose", "statement"),
        ("It's a rule of the club that visitors pay", "statement"),
        ("Mum never could give me the recipe", "statement"),
        ("My nieces call me Bear", "statement"),
        ("Whenever it rains they show the film in the hall", "statement"),
        ("Bei Regen immer drinnen", "statement"),
        ("Grundsätzlich war der Film gut", "statement"),
        ("Ab morgen fährt der Bus nicht", "change"),
        ("Die Regeln stehen an der Tür vom Bad", "statement"),
        ("Wenn ich Ihnen glaube, war das Boot blau", "statement"),
        ("Das gilt für alle Busse der Linie 5", "statement"),
        ("We are out of the question papers", "statement"),
        ("Das Buch ist nicht in Frage gestellt", "statement"),
        ("The more the better", "statement"),
        ("No commands with sudo unless I ask for it", "instruction"),
        ("nothing before ten for me please", "instruction"),
        ("can you not send me voice notes", "instruction"),
        ("Facebook kommt für mich nicht in Frage", "preference"),
        ("spicy food? love it, the hotter the better", "preference"),
        ("I have a meeting with Robert on Friday, can you help me to prepare it?", "statement"),
        ('My boss wrote "always use the blue form", and I laughed.', "statement"),
        ("The demo moved to 5 June.", "change"),
        ("So it's 54,600 now", "change"),
        ("Committee's put it off a week, so the 29th", "change"),
        ("Der Urlaub ist verschoben, jetzt 1. bis 22. August.", "change"),
        ("la terapia ya no es los jueves", "change"),
        ("I know that now", "statement"),
        ("we repainted the guest room, it's green these days", "change"),
        ("Ana has started a new job at Bosch", "change"),
        ("Choir meets in the hall now, not in the church", "change"),
        ("der Start verschiebt sich auf den 24. März", "change"),
        ("el médico me bajó las pastillas a 10 mg", "change"),
        ("I work from Monday to Friday", "statement"),
        ("We have no more milk", "statement"),
        ("He is not at the school. But Tom is.", "statement"),
        ("Ya es tarde", "statement"),
        ("Voy a la playa desde marzo", "statement"),
        ("```\n# always use this form when I ask you\n```\nThat is the file.", "statement"),
    ],
)
def test_what_a_user_says_is_found_out(memory: Memory, text: str, act: str) -> None:
    stored = memory.remember(text, role="user")
    assert memory.get(stored.id).speech_act == act


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("我对花生过敏", "statement"),
        ("Моя жена не ест рыбу.", "statement"),
        ("Моя жена: ok!", "statement"),
        ("Where is the winch? Моя жена не ест рыбу.", "statement"),
        ("👍🏽 !!", "acknowledgement"),
        ("danke 👍", "acknowledgement"),
    ],
)
def test_letters_say_something_whatever_the_locale(query: Query, text: str, act: str) -> None:
    found = "SELECT recall_private.found_speech_act('', %(text)s, 'user') AS plain, "
    found += "recall_private.found_speech_act('', %(text)s COLLATE \"C\", 'user') AS c"
    assert query(found, {"text": text}) == [{"plain": act, "c": act}]


@pytest.mark.parametrize("fields", [{"role": "assistant"}, {}, {"role": "user", "title": "house-rules.md"}])
def test_only_what_a_user_says_becomes_a_directive(memory: Memory, fields: dict[str, Any]) -> None:
    stored = memory.remember("Always give version numbers when I ask about libraries.", **fields)
    assert memory.get(stored.id).speech_act == "statement"


def test_the_words_of_a_long_answer_are_not_read(query: Query) -> None:
    spent = "SELECT count(recall_private.found_speech_act('', t || n, %s)) "
    spent += "FROM repeat('word ', 300) t, generate_series(1, 300) n"

    def seconds(role: str) -> float:
        begun = time.perf_counter()
        query(spent, (role,))
        return time.perf_counter() - begun

    assert min(seconds("assistant") for _ in range(3)) < 0.3 * min(seconds("user") for _ in range(3))


def test_a_mark_stays_until_it_is_taken_back(memory: Memory) -> None:
    stored = memory.remember("No meetings before ten.", key="ten", speech_act="instruction")
    memory.edit(stored.id, body="No meetings before eleven.")
    assert (memory.get(stored.id).speech_act, memory.get(stored.id).act_marked) == ("instruction", True)
    memory.remember("No meetings before noon.", key="ten")
    assert memory.get(stored.id).speech_act == "instruction"
    memory.edit(stored.id, speech_act=None)
    assert (memory.get(stored.id).speech_act, memory.get(stored.id).act_marked) == ("statement", False)


def test_a_new_text_says_something_else(memory: Memory) -> None:
    stored = memory.remember("Where is the winch?", role="user")
    memory.edit(stored.id, body="The winch is in the shed.")
    assert memory.get(stored.id).speech_act == "statement"


def test_an_unknown_speech_act_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="speech act 'order' is none of statement, question"):
        memory.remember("The winch.", speech_act="order")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(InvalidInput, match="The speech act 'order' is unknown"):
        memory.search("winch", speech_acts=("order",))  # type: ignore[arg-type]  # what is tested


def test_lists_and_searches_are_filtered(memory: Memory) -> None:
    memory.remember("Always name the harbour first.", role="user", key="rule")
    memory.remember("The harbour has two cranes.", role="user", key="cranes")
    assert [one.key for one in memory.list(speech_acts=("instruction", "preference"))] == ["rule"]
    assert [hit.key for hit in memory.search("harbour", speech_acts=("statement",)).hits] == ["cranes"]


def test_a_stored_question_does_not_answer_itself(memory: Memory) -> None:
    question = "What is the wifi password of the guest network?"
    memory.remember_many([Draft(f"Note {n} on the garden, bed {n}.") for n in range(20)])
    before = memory.search(question)
    memory.remember(question, role="user")
    after = memory.search(question)
    assert not after.answered
    assert after.confidence is not None
    assert before.confidence is not None
    assert after.confidence <= before.confidence + 0.1


def test_the_turn_after_a_question_is_found_by_it(memory: Memory) -> None:
    question = "What is the wifi password of the guest network?"
    memory.remember("heron-42, with a hyphen", role="assistant", key="answer", session_id="s")
    memory.remember(
        question, role="user", key="question", session_id="s", links=(DraftLink("answer", "next"),)
    )  # fmt: skip
    memory.remember_many([Draft(f"The guest house has {n} rooms.", key=f"room-{n}") for n in range(5)])
    found = memory.search(question)
    assert found.hits[0].key == "answer"
    assert found.answered
    assert "question" in found.hits[0].explanation["arms"]


def test_who_goes_on_after_his_own_question_does_not_answer_it(memory: Memory, tmp_path: Path) -> None:
    question = "Do they still make that pelleted onion seed, Kelsae?"
    turns = [
        {"role": "user", "content": question},
        {"role": "user", "content": "Iestyn is here, I must go"},
        {"role": "assistant", "content": "Until soon."},
    ]
    talk = tmp_path / "talk.json"
    talk.write_text(json.dumps({"messages": turns}), encoding="utf-8")
    memory.import_drafts(open_source(talk), source="talk")
    memory.remember_many([Draft(f"Note {n} on the garden, bed {n}.") for n in range(20)])
    found = memory.search(question)
    assert not found.answered
    assert found.hits[0].body == question


def test_a_question_can_be_asked_for(memory: Memory) -> None:
    memory.remember("What is the wifi password of the guest network?", role="user", key="question")
    memory.remember("The guest network is slow.", role="user", key="slow")
    assert memory.search("did I ask you about the wifi password?").hits[0].key == "question"


def test_a_short_remark_of_the_assistant_goes_behind_what_the_user_said(memory: Memory) -> None:
    memory.remember("The kiln is at 1,220 degrees then.", role="assistant", key="remark")
    memory.remember("The kiln is at 1,220 degrees now.", role="user", key="said")
    memory.remember_many([Draft(f"Note {n} on the garden, bed {n}.") for n in range(20)])

    asked = memory.search("degrees of the kiln").hits[:2]
    recalled = memory.search("What did you tell me about the degrees of the kiln?").hits[:2]

    assert [hit.key for hit in asked] == ["said", "remark"]
    assert asked[1].explanation["relevance"]["features"]["speaker"] == -1
    assert [hit.key for hit in recalled] == ["remark", "said"]


@pytest.mark.parametrize(("length", "feature"), [(34, -1), (100, -1), (300, -0.5), (500, 0), (5_000, 0)])
def test_a_long_answer_of_the_assistant_stands_by_itself(memory: Memory, length: int, feature: float) -> None:
    memory.remember("The kiln is at 1,220 degrees then.".ljust(length, "."), role="assistant", key="answer")
    memory.remember("Turn the kiln off.", role="user", key="said")
    found = {
        hit.key: hit.explanation["relevance"]["features"]["speaker"] for hit in memory.search("kiln").hits
    }
    assert found == {"answer": pytest.approx(feature), "said": 0}


def test_a_directive_applies_to_a_request_that_it_shares_nothing_with(memory: Memory) -> None:
    memory.remember("Always answer in two sentences.", role="user", key="rule")
    memory.remember_many([Draft(f"Library {n} parses dates.", key=f"library-{n}") for n in range(12)])
    request = memory.search("Can you suggest a library that parses dates?")
    assert "rule" in [hit.key for hit in request.hits[:10]]
    told = memory.search("When did I use library 3?")
    assert told.hits[0].key == "library-3"


def test_directives_come_near_a_best_memory_that_hardly_answers(memory: Memory) -> None:
    # None of them shares anything with the query, which asks for nothing by its words.
    memory.remember_many(RULES)
    memory.remember_many([Draft(f"Shelf {n} has beans in glasses.", key=f"shelf-{n}") for n in range(12)])

    def below_the_best(query: str) -> list[float]:
        logits = {hit.key: hit.explanation["relevance"]["logit"] for hit in memory.search(query, k=20).hits}
        best = max(logit for key, logit in logits.items() if key and key.startswith("shelf"))
        return sorted(best - logits[f"rule-{n}"] for n in range(3))

    assert max(below_the_best("so tired, the whole day on the roof")) == pytest.approx(0.1, abs=1e-9)
    assert min(below_the_best("beans in glasses on shelf 3, the whole row")) >= 1


def test_a_query_about_directives_finds_them(memory: Memory) -> None:
    memory.remember_many(RULES)
    memory.remember_many([Draft(f"The winch lifts {n} tonnes.", key=f"page-{n}") for n in range(12)])

    found = memory.search("What rules have I given you?")

    lifted = {hit.key for hit in found.hits[:5] if hit.explanation["relevance"]["directive"] > 0}
    assert lifted == {"rule-0", "rule-1", "rule-2"}


def test_directives_are_bounded(memory: Memory, query: Query) -> None:
    drafts = [Draft(f"Always answer question {n} in {n} words.", role="user") for n in range(300)]
    memory.remember_many(drafts)
    memory.remember("The crane lifts four tonnes.", key="crane")
    found = memory.search("Can you tell me what the crane lifts?", k=10)
    assert "crane" in [hit.key for hit in found.hits[:6]]
    [row] = query(
        "SELECT cardinality(recall_private.directive_arm(recall.current_tenant(), "
        "(SELECT embedding FROM recall.vector_shared LIMIT 1), "
        "(recall_private.read_search_request('{}')).filter)) AS found"
    )
    assert row["found"] <= 20


@pytest.mark.parametrize(
    "asked", ["Did that work out?", "And the other one?", "hat das geklappt?", "¿funcionó?"]
)
def test_a_query_that_needs_its_conversation_says_so(memory: Memory, asked: str) -> None:
    memory.remember("The work on the shed went out of hand.")
    found = memory.search(asked)
    assert found.needs_context
    assert not found.answered


def test_the_newer_of_two_versions_goes_first(memory: Memory) -> None:
    memory.remember("The opening of the bakery is on the first of May.", key="old", occurred_at=DAY)
    memory.remember(
        "The opening of the bakery is on the ninth of June.", key="new",
        occurred_at=datetime(2026, 4, 1, tzinfo=UTC),
    )  # fmt: skip
    found = memory.search("When is the opening of the bakery?")
    assert [hit.key for hit in found.hits] == ["new", "old"]
    assert found.hits[1].newer_version == found.hits[0].id
    assert found.hits[0].newer_version is None
    then = memory.search("opening of the bakery", as_of=datetime(2026, 3, 15, tzinfo=UTC))
    assert [hit.key for hit in then.hits] == ["old"]
    before = memory.search("When was the opening of the bakery originally, on the first of May?")
    assert before.hits[0].key == "old"


def test_statements_about_different_things_are_no_versions(memory: Memory) -> None:
    later = datetime(2026, 4, 1, tzinfo=UTC)
    memory.remember("Rotate the root keys on Monday.", key="root", occurred_at=DAY)
    memory.remember("Rotate the backup keys on Tuesday.", key="backup", occurred_at=later)
    memory.remember("Malaysia is located in Asia.", key="malaysia", occurred_at=DAY)
    memory.remember("India is located in Asia.", key="india", occurred_at=later)

    keys = memory.search("when do we rotate the keys", k=2).hits
    malaysia = memory.search("Where is Malaysia located?", k=2).hits

    assert {hit.key for hit in keys} == {"root", "backup"}
    assert [hit.key for hit in malaysia] == ["malaysia", "india"]
    assert all(hit.newer_version is None for hit in (*keys, *malaysia))


def test_what_changed_goes_before_what_was_said(memory: Memory) -> None:
    later = datetime(2026, 4, 1, tzinfo=UTC)
    memory.remember("We go live with the tracking page on 15 June.", role="user", key="said", occurred_at=DAY)
    said = "Put off: we go live with the tracking page on 6 July, says legal"
    memory.remember(said, role="user", key="moved", occurred_at=later)
    memory.remember("The cat has moved to the other sofa.", role="user", key="cat", occurred_at=later)
    memory.remember_many([Draft(f"Note {n} on the garden, bed {n}.") for n in range(20)])

    now = memory.search("when does the tracking page go live?")
    past = memory.search("when was the tracking page to go live?")
    request = memory.search("Can you write a post about the tracking page going live?")

    in_project = memory.search("when does the tracking page go live?", project="parcels")

    assert [hit.key for hit in now.hits[:2]] == ["moved", "said"]
    assert [hit.key for hit in in_project.hits[:2]] == ["moved", "said"]  # weighed again by the client
    assert now.hits[1].newer_version is None
    assert past.hits[0].key == request.hits[0].key == "said"


def test_how_it_was_before_is_what_the_change_changed(memory: Memory) -> None:
    later = datetime(2026, 4, 1, tzinfo=UTC)
    first = "Concert on 27 June in the church, summer concert"
    memory.remember(first, role="user", key="said", occurred_at=DAY)
    said = "The summer concert is put off, the church concert is on 12 September"
    memory.remember(said, role="user", key="moved", occurred_at=later)
    memory.remember_many([Draft(f"Note {n} on the garden, bed {n}.") for n in range(20)])

    now = memory.search("which day is the summer concert that was put off?", roles=("user",))
    asked = "which day was the summer concert first, before it was put off?"
    before = memory.search(asked)

    in_project = memory.search(asked, project="parcels")

    assert [hit.key for hit in now.hits[:2]] == ["moved", "said"]
    assert [hit.key for hit in before.hits[:2]] == ["said", "moved"]
    assert [hit.key for hit in in_project.hits[:2]] == ["said", "moved"]


def test_what_somebody_else_changed_is_something_else(memory: Memory) -> None:
    later = datetime(2026, 4, 1, tzinfo=UTC)
    memory.remember("My rent is 900 a month.", role="user", author="Ann", key="ann", occurred_at=DAY)
    memory.remember("My rent is 950 now.", role="user", author="Bob", key="bob", occurred_at=later)
    memory.remember("Your rent is 990 now, then.", role="assistant", key="assistant", occurred_at=later)

    assert memory.search("how high is Ann's rent a month?").hits[0].key == "ann"


def test_entries_of_a_list_are_no_versions(memory: Memory) -> None:
    for number in range(6):
        when = datetime(2026, 4, 1 + number, tzinfo=UTC)
        memory.remember(f"The winch of quay {number} was inspected.", key=str(number), occurred_at=when)

    assert all(hit.newer_version is None for hit in memory.search("winch inspected").hits)


@pytest.mark.parametrize(
    ("asked", "seeks"),
    [
        ("I'm building a small shop. What would you suggest I use for the payments?", "request"),
        ("If I lay out a blog, which elements should I use?", "request"),
        ("What did you suggest for the payments?", "recall"),
        ("Which birds is Devrim's thesis about?", "recall"),
        ("Where does she work these days?", "recall"),
        ("Which libraries are used here?", None),
        ("Welche Bibliotheken werden hier benutzt?", None),
        ("Kannst du mir einen Plan machen?", "request"),
        ("¿Me recomiendas un libro?", "request"),
        ("write to the harbour office that we come at six", "request"),
        ("what do I bring to the tasting", "request"),
        ("Was bring ich zum Fest mit?", "request"),
        ("¿qué me llevo a la sierra?", "request"),
        ("What rules have I given you?", "request"),
        ("what can't I eat", "request"),
        ("find a slot for the dentist", "request"),
        ("buch mir ein Ticket nach Boston", "request"),
        ("Wie komm ich nach Vellmar?", "request"),
        ("Wo habe ich geparkt?", "recall"),
        ("Which words should be deleted from the results?", None),
        ("haz un gráfico de las ventas", "request"),
        ("welche Regeln hab ich dir gegeben", "request"),
        ("¿qué no puedo comer?", "request"),
        ("What did he say about the rules of the club?", "recall"),
    ],
)
def test_what_a_query_seeks(query: Query, asked: str, seeks: str | None) -> None:
    [row] = query("SELECT (recall_private.query_intent(%s)).seeks", (asked,))
    assert row["seeks"] == seeks


@pytest.mark.parametrize(
    ("asked", "number"),
    [
        ("How much is the council tax?", True),
        ("what did the double pram cost?", True),
        ("What's the dose of her tablets?", True),
        ("Wie alt ist die Kora?", True),
        ("¿cuántos gatos tiene Renata?", True),
        ("How did the roof get mended?", False),
        ("What does the roofer want as a price?", True),
        ("Who said the roof costs too much?", False),
        ("Wie heißt mein Schwager?", False),
    ],
)
def test_which_queries_ask_for_a_number(query: Query, asked: str, number: bool) -> None:
    [row] = query("SELECT (recall_private.query_intent(%s)).asks_number", (asked,))
    assert row["asks_number"] is number


def test_a_memory_without_a_number_says_less_to_a_query_that_asks_for_one(memory: Memory) -> None:
    memory.remember("The double pram is grey and was a present.", key="without")
    memory.remember("The double pram was three hundred.", key="in words")
    memory.remember("We ordered the double pram.", title="Pram, 300 pounds", key="in the title")
    terms = {
        hit.key: hit.explanation["relevance"]["no_number"]
        for hit in memory.search("What did the double pram cost?").hits
    }
    assert terms == {"without": -1, "in words": 0, "in the title": 0}
    others = memory.search("Where is the double pram?").hits
    assert {hit.explanation["relevance"]["no_number"] for hit in others} == {0}


def test_a_question_lends_only_to_another_speaker(memory: Memory) -> None:
    """What the same person says next is not the answer."""
    turns = (("user", "Which code opens the wifi?"), ("user", "brb, frisbee"), ("assistant", "4711 it is."))
    ids = [
        memory.remember(text, role=role, key=str(n), occurred_at=DAY + timedelta(minutes=n)).id
        for n, (role, text) in enumerate(turns)
    ]
    for src, dst in pairwise(ids):
        memory.link(src, dst, "next")
    found = memory.search("Which code opens the wifi?")
    assert not found.answered
    graph = {hit.key: hit.explanation["relevance"]["graph"] for hit in found.hits}
    assert graph["1"] < 0.1  # the reply beside it lends a little


def test_a_context_shows_directives_apart_and_the_newest_version(memory: Memory) -> None:
    memory.remember("Always answer in two sentences.", role="user", key="rule", occurred_at=DAY)
    memory.remember("The opening of the bakery is on the first of May.", key="old", occurred_at=DAY)
    memory.remember(
        "The opening of the bakery is on the ninth of June.", key="new",
        occurred_at=datetime(2026, 4, 1, tzinfo=UTC),
    )  # fmt: skip
    block = memory.context("Can you tell me when the opening of the bakery is?")
    assert block.text.startswith("What the user asked for or prefers")
    assert [source.key for source in block.sources] == ["rule", "new"]
    assert [(left.key, left.reason) for left in block.left_out] == [("old", "superseded")]
    assert f"2026-04-01 · newer than what was said on {DAY:%Y-%m-%d}" in block.text
    assert "> Always answer in two sentences." in block.text
