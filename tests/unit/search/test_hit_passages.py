"""What is shown of a hit that has a passage: the passage, where its text must be cut."""

from __future__ import annotations

import pytest

from pgrecall.faces.snippets import shown_text, snippet
from pgrecall.nouns.search.models import Hit, Passage
from pgrecall.search.context.rendering import Entry
from pgrecall.search.rerank.blending import text_to_read
from pgrecall.tools.read_tools import excerpt
from tests.unit.search.hits import hit

BODY = "Rent was paid. " * 100 + "The winch is mended with tar. It holds."
START = 1500


def long(body: str = BODY) -> Hit:
    return hit(1, body=body, title="Ledger", passage=Passage(START, len(body), body[START:]))


@pytest.mark.parametrize(
    ("most", "start"), [(20, START), (39, START), (100, len(BODY) - 100), (len(BODY), 0), (5000, 0)]
)
def test_an_excerpt_begins_at_the_passage_or_before_it_if_more_fits(most: int, start: int) -> None:
    assert excerpt(long(), most) == (start, min(start + most, len(BODY)))


def test_an_excerpt_without_a_passage_is_the_beginning() -> None:
    assert excerpt(hit(1, body=BODY), 20) == (0, 20)


RULE = "Never push to main unless I say so."
RULES = f"We lost a day. {RULE} Write short commits, and " + "sign all of them. " * 9


@pytest.mark.parametrize(("most", "shown"), [
    (5, RULE), (60, RULE), (1000, RULES),
    (120, f"{RULE} Write short commits, and sign all of them. sign all of them. sign all of them."),
])  # fmt: skip
def test_an_excerpt_of_a_directive_has_whole_sentences_and_the_one_that_makes_it(
    most: int, shown: str
) -> None:
    start, end = excerpt(hit(1, body=RULES, speech_act="instruction", directive=RULE), most)
    assert RULES[start:end] == shown


def test_a_directive_without_such_a_sentence_begins_with_a_whole_one() -> None:
    start, end = excerpt(hit(1, body=RULES, speech_act="preference"), 5)
    assert RULES[start:end] == "We lost a day."
    shared = hit(1, body=RULES, speech_act="preference", tenant="team")
    assert excerpt(shared, 5) == (0, 5), "no directive, as it is another's"


def test_an_entry_that_is_cut_begins_with_its_passage() -> None:
    assert Entry(long()).body == BODY
    assert Entry(long(), cut=len(BODY)).body == "… The winch is mended with tar. It holds."
    assert Entry(long(), cut=START + 29).body == "… The winch is mended with tar. …"
    assert Entry(hit(1, body=BODY), cut=14).body == "Rent was paid. …"


def test_snippets_and_rerankers_read_the_passage() -> None:
    assert shown_text(long()).startswith("… The winch")
    assert shown_text(hit(1, body=BODY)) == BODY
    assert text_to_read(long()) == "Ledger\nThe winch is mended with tar. It holds."


def test_a_snippet_leaves_out_addresses_and_tags() -> None:
    body = 'See <b>the</b> [hub](https://raw.example/hub%20notes_(old).md "copy") and a < b.'
    assert snippet(body, {"hub": 1.0}) == ("See the hub and a < b.", [(8, 11)])
    assert snippet('… note](https://a.example "copy") on tides', {"tide": 1.0})[0] == "… note on tides"
