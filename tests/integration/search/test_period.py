"""The period that a query names: what is read, when nothing is, and what it does to the order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pgrecall import Memory
from pgrecall.nouns.memories.models import Draft
from tests.databases import Query
from tests.scale import SCALE

pytestmark = pytest.mark.in_turns

WEDNESDAY = datetime(2026, 11, 18, 15, tzinfo=UTC)

PERIODS: dict[str, tuple[str | None, str | None]] = {
    "what did we do yesterday": ("2026-11-17", "2026-11-18"),
    "the day before yesterday": ("2026-11-16", "2026-11-17"),
    "notes of today": ("2026-11-18", "2026-11-19"),
    "who called last night": ("2026-11-17", "2026-11-18"),
    "qué hice la noche pasada": ("2026-11-17", "2026-11-18"),
    "en los últimos días": ("2026-11-12", "2026-11-19"),
    "im Jänner 2023": ("2023-01-01", "2023-02-01"),
    "what did I decide this morning": ("2026-11-18", "2026-11-19"),
    "what did we ship last week": ("2026-11-09", "2026-11-16"),
    "this week's plan": ("2026-11-16", "2026-11-23"),
    "last weekend": ("2026-11-14", "2026-11-16"),
    "invoices of last month": ("2026-10-01", "2026-11-01"),
    "where did we travel last year": ("2025-01-01", "2026-01-01"),
    "this year": ("2026-01-01", "2027-01-01"),
    "last quarter": ("2026-07-01", "2026-10-01"),
    "in the third quarter of 2023": ("2023-07-01", "2023-10-01"),
    "fourth quarter 2022": ("2022-10-01", "2023-01-01"),
    "in the third quarter": ("2026-07-01", "2026-10-01"),
    "the first half of September 2022": ("2022-09-01", "2022-09-16"),
    "in the second half of June": ("2026-06-16", "2026-07-01"),
    "in der zweiten Hälfte im Juni": ("2026-06-16", "2026-07-01"),
    "en la primera mitad de mayo": ("2026-05-01", "2026-05-16"),
    "the first week of May": ("2026-05-01", "2026-05-11"),
    "the second week of November": ("2026-11-01", "2026-12-01"),
    "in the last days of April": ("2026-04-21", "2026-05-01"),
    "en los últimos días de mayo": ("2026-05-21", "2026-06-01"),
    "the last quarter of 2023": ("2023-01-01", "2024-01-01"),
    "the week before August 3, 2023": (None, "2023-08-03"),
    "last weekend before April 10, 2023": (None, "2023-04-10"),
    "en el primer trimestre": ("2026-01-01", "2026-04-01"),
    "end of last month": ("2026-10-21", "2026-11-01"),
    "Q3 2023": ("2023-07-01", "2023-10-01"),
    "a couple of weeks ago": ("2026-11-01", "2026-11-08"),
    "last fall": ("2025-09-01", "2025-12-01"),
    "last autumn": ("2025-09-01", "2025-12-01"),
    "what happened last Friday": ("2026-11-13", "2026-11-14"),
    "last Wednesday": ("2026-11-11", "2026-11-12"),
    "the meeting on Wednesday": ("2026-11-18", "2026-11-19"),
    "the meeting on Friday": ("2026-11-13", "2026-11-14"),
    "two weeks ago": ("2026-11-01", "2026-11-08"),
    "3 days ago": ("2026-11-15", "2026-11-16"),
    "a few days ago": ("2026-11-12", "2026-11-17"),
    "a couple of months ago": ("2026-09-03", "2026-10-04"),
    "a year ago": ("2025-05-20", "2026-05-20"),
    "in the last two weeks": ("2026-11-04", "2026-11-19"),
    "over the past 3 months": ("2026-08-18", "2026-11-19"),
    "What did Ann say in May 2023?": ("2023-05-01", "2023-06-01"),
    "May 2023 budget": ("2023-05-01", "2023-06-01"),
    "the budget of May, 2023": ("2023-05-01", "2023-06-01"),
    "in may": ("2026-05-01", "2026-06-01"),
    "in December": ("2025-12-01", "2026-01-01"),
    "the January report": ("2026-01-01", "2026-02-01"),
    "on 3 June 2024": ("2024-06-03", "2024-06-04"),
    "on 3 June, 2024": ("2024-06-03", "2024-06-04"),
    "on June 3rd, 2024": ("2024-06-03", "2024-06-04"),
    "the 3rd of June 2024": ("2024-06-03", "2024-06-04"),
    "what happened on June 3": ("2026-06-03", "2026-06-04"),
    "minutes 2024-06-03": ("2024-06-03", "2024-06-04"),
    "minutes of 2024-06": ("2024-06-01", "2024-07-01"),
    "am 3.6.2024": ("2024-06-03", "2024-06-04"),
    "on 6/13/2024": ("2024-06-13", "2024-06-14"),
    "29 February 2024": ("2024-02-29", "2024-03-01"),
    "on 29 February": ("2024-02-29", "2024-03-01"),
    "what was planned in 2022": ("2022-01-01", "2023-01-01"),
    "the year 2022": ("2022-01-01", "2023-01-01"),
    "this spring": ("2026-03-01", "2026-06-01"),
    "last spring": ("2026-03-01", "2026-06-01"),
    "last summer": ("2026-06-01", "2026-09-01"),
    "last winter": ("2025-12-01", "2026-03-01"),
    "in the fall": ("2026-09-01", "2026-12-01"),
    "summer of 2021": ("2021-06-01", "2021-09-01"),
    "during the summer": ("2026-06-01", "2026-09-01"),
    "spring 2023": ("2023-03-01", "2023-06-01"),
    "Q3 2025 numbers": ("2025-07-01", "2025-10-01"),
    "early 2023": ("2023-01-01", "2023-05-02"),
    "late last year": ("2025-08-31", "2026-01-01"),
    "at the end of May 2023": ("2023-05-21", "2023-06-01"),
    "late in May": ("2026-05-21", "2026-06-01"),
    "in the last days": ("2026-11-12", "2026-11-19"),
    "in den letzten Tagen": ("2026-11-12", "2026-11-19"),
    "last Friday on 23 January, 2022": ("2022-01-23", "2022-01-24"),
    "between March and May 2024": ("2024-03-01", "2024-06-01"),
    "between August 11 and August 15 2023": ("2023-08-11", "2023-08-16"),
    "between November and February": ("2025-11-01", "2026-03-01"),
    "from March 2024 to May": ("2024-03-01", "2024-06-01"),
    "compare 3 May 2023 with 2023-06-02": ("2023-05-03", "2023-06-03"),
    "since June": ("2026-06-01", None),
    "since 2022": ("2022-01-01", None),
    "until 2021": (None, "2022-01-01"),
    "by July 10, 2022": (None, "2022-07-11"),
    "before May 2023": (None, "2023-05-01"),
    "after 3 June 2024": ("2024-06-04", None),
    "was geschah letzten Sommer": ("2026-06-01", "2026-09-01"),
    "im Mai 2023": ("2023-05-01", "2023-06-01"),
    "am 3. Juni 2024": ("2024-06-03", "2024-06-04"),
    "vor zwei Wochen": ("2026-11-01", "2026-11-08"),
    "vor ein paar Tagen": ("2026-11-12", "2026-11-17"),
    "gestern": ("2026-11-17", "2026-11-18"),
    "seit März": ("2026-03-01", None),
    "zwischen März und Mai 2024": ("2024-03-01", "2024-06-01"),
    "letztes Jahr": ("2025-01-01", "2026-01-01"),
    "Anfang 2023": ("2023-01-01", "2023-05-02"),
    "im dritten Quartal 2023": ("2023-07-01", "2023-10-01"),
    "3. Quartal 2023": ("2023-07-01", "2023-10-01"),
    "letztes Quartal": ("2026-07-01", "2026-10-01"),
    "im letzten Herbst": ("2025-09-01", "2025-12-01"),
    "vor ein paar Wochen": ("2026-10-04", "2026-11-08"),
    "vor Mai 2023": (None, "2023-05-01"),
    "el verano pasado": ("2026-06-01", "2026-09-01"),
    "la semana pasada": ("2026-11-09", "2026-11-16"),
    "hace dos semanas": ("2026-11-01", "2026-11-08"),
    "en mayo de 2023": ("2023-05-01", "2023-06-01"),
    "el 3 de junio de 2024": ("2024-06-03", "2024-06-04"),
    "ayer": ("2026-11-17", "2026-11-18"),
    "a principios de 2023": ("2023-01-01", "2023-05-02"),
    "en el tercer trimestre de 2023": ("2023-07-01", "2023-10-01"),
    "el otoño pasado": ("2025-09-01", "2025-12-01"),
    "el pasado verano": ("2026-06-01", "2026-09-01"),
    "hace un par de semanas": ("2026-11-01", "2026-11-08"),
}
"""What a query names on that Wednesday: the first day, and the first day after it."""

NO_PERIOD = [
    "When did Melanie paint a sunrise?",
    "may I go",
    "May I use the kitchen?",
    "who may change a limit",
    "march on",
    "They march 3 times a day",
    "how will the tide be",
    "spring boot",
    "a replacement spring",
    "in spring boot",
    "did it fall over",
    "the fall of the house",
    "last name of Ann",
    "this time",
    "the last one",
    "next to the door",
    "the next step",
    "before the storm broke",
    "after all",
    "port 2022",
    "the third quarter of the pipe",
    "a second quarter turn",
    "quarter past three",
    "every other day",
    "on the other hand",
    "un par de zapatos",
    "die zweite Stimme",
    "error 2013",
    "in 99999",
    "in 2000 words",
    "the last 1000000 days",
    "99999 years ago",
    "on 3/4/2024",
    "30 February",
    "what is April like",
    "who is June",
    "second hand shop",
    "half of it",
    "early bird",
    "the end of the road",
    "in the end",
    "sun and moon",
    "version 1.2.3",
    "over a week",
    "week",
    "a day",
    "v2023-05",
    "May 3 people come",
    "this may be wrong",
    "mayo on chips",
    "can a marching band fall in",
    "who was first",
    "what happens tomorrow",
    "next week",
    "next Monday",
    "nächsten Sommer",
    "the third quarter",
    "before the launch",
]


def read(query: Query, text: str, now: datetime = WEDNESDAY) -> dict[str, Any] | None:
    """The period a query of tenant ``acme`` names; None for none."""
    (row,) = query("SELECT to_jsonb(recall_private.period_in_query(%s, %s)) AS period", (text, now))
    found: dict[str, Any] | None = row["period"]
    return found


def day(moment: str | None) -> str | None:
    """The day that begins at a moment of UTC."""
    if moment is None:
        return None
    parsed = datetime.fromisoformat(moment).astimezone(UTC)
    assert parsed == parsed.replace(hour=0, minute=0, second=0, microsecond=0)
    return parsed.date().isoformat()


def days(period: dict[str, Any] | None) -> tuple[str | None, str | None]:
    assert period is not None
    return day(period["since"]), day(period["until"])


@pytest.mark.parametrize("text", PERIODS)
def test_a_period_is_read(sql: Query, text: str) -> None:
    assert days(read(sql, text)) == PERIODS[text]


@pytest.mark.parametrize("text", NO_PERIOD)
def test_other_words_name_no_period(sql: Query, text: str) -> None:
    assert read(sql, text) is None


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/New_York"])
def test_the_zone_of_the_session_changes_nothing(sql: Query, zone: str) -> None:
    late = datetime(2026, 11, 18, 23, 30, tzinfo=UTC)
    sql("SELECT set_config('timezone', %s, true)", (zone,))

    assert days(read(sql, "yesterday", late)) == ("2026-11-17", "2026-11-18")
    assert days(read(sql, "in May 2023", late)) == ("2023-05-01", "2023-06-01")


def test_the_period_has_the_words_as_written(sql: Query) -> None:
    found = read(sql, "What did Maria adopt on 3 June, 2023?")

    assert found is not None
    assert found["words"] == "on 3 June, 2023"


WORDS = (
    "last next this the of in on since until before after between and from to week weeks months years "
    "quarter weekend day ago few a two first half early late May march June february spring summer winter "
    "Friday yesterday vor hace pasado bis storm 2023 1999 29 31 0 3rd 99 9999 99999999 q4 , . "
    "2024-02-30 2024-13-01 0000-01-01 31.4.2024 13/13/2024"
)
MOMENTS = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(2024, 2, 29, 12, tzinfo=UTC),
    WEDNESDAY,
    datetime(9999, 12, 31, 23, tzinfo=UTC),
]
any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60)
any_words = st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join)


@settings(
    max_examples=100 * SCALE, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # nothing is stored
@example("in May 2023 " * 833, WEDNESDAY)
@example("the day before " * 600 + "yesterday", WEDNESDAY)
@example("1000 years ago", MOMENTS[0])
@example("9999 months ago", MOMENTS[0])
@example("last 9999 years", MOMENTS[-1])
@example("the last 9999 years", WEDNESDAY)
@given(st.one_of(any_text, any_words), st.sampled_from(MOMENTS))
def test_a_period_of_any_text_is_never_empty(sql: Query, text: str, now: datetime) -> None:
    (row,) = sql(
        "SELECT (p).words, (p).since IS NOT NULL OR (p).until IS NOT NULL AS bound, "
        "(p).since < (p).until AS ordered, recall_private.period_match(p, %s) AS match "
        "FROM (SELECT recall_private.period_in_query(%s, %s) AS p) read",
        (now, text, now),
    )

    if row["words"] is None:
        assert row["match"] == 0
    else:
        assert row["bound"]
        assert row["ordered"] is not False
        assert 0 <= row["match"] <= 1


def match(query: Query, text: str, at: str | None) -> float:
    (row,) = query(
        "SELECT recall_private.period_match(recall_private.period_in_query(%s, %s), %s::timestamptz) AS m",
        (text, WEDNESDAY, at),
    )
    return float(row["m"])


def test_what_is_outside_matches_less_the_farther_it_is(sql: Query) -> None:
    text = "in May 2023"

    assert match(sql, text, "2023-05-01T00:00Z") == match(sql, text, "2023-05-31T23:59Z") == 1
    assert match(sql, text, "2023-06-08T18:00Z") == pytest.approx(0.5)  # a quarter of May later
    assert match(sql, text, "2023-04-23T06:00Z") == pytest.approx(0.5)
    assert match(sql, text, "2023-07-01T00:00Z") < 0.1
    assert 0 <= match(sql, text, "0001-01-01T00:00Z") < 1e-9
    assert match(sql, text, None) == match(sql, "no time", "2023-05-01T00:00Z") == 0
    assert match(sql, "since May 2023", "2026-05-31T23:59Z") == 1


def meetings(memory: Memory) -> None:
    for month in (3, 5, 9):
        memory.remember(
            "Met the harbour master about the price",
            key=f"2023-{month:02}",
            occurred_at=datetime(2023, month, 10, 9, tzinfo=UTC),
        )
    memory.remember("Met the harbour master about the price", key="timeless")


def test_a_question_about_the_past_without_a_topic_finds_what_was_in_its_period(memory: Memory) -> None:
    memory.remember_many([
        Draft(f"Every mind on the crew was on valve {n} and its empty diary.", key=f"valve {n}",
              occurred_at=datetime(2026, 2, 1, tzinfo=UTC) + timedelta(hours=n)) for n in range(120)
    ])  # fmt: skip
    called = "I called Nora about the sewing room."
    memory.remember(called, key="april", occurred_at=datetime(2026, 4, 27, 10, tzinfo=UTC))
    archived = memory.remember("I slept badly.", key="gone", occurred_at=datetime(2026, 4, 28, tzinfo=UTC))
    memory.forget(archived.id)

    asked = "What was it that was on my mind so much in the last days of April? The diary is empty then."
    found = [hit.key for hit in memory.search(asked, now=WEDNESDAY, k=50).hits]

    assert "april" in found[:3]
    assert "gone" not in found


def test_a_period_is_preferred_and_nothing_is_left_out(memory: Memory) -> None:
    meetings(memory)

    hits = memory.search(
        "what did the harbour master say in May 2023", now=WEDNESDAY, vitality_mode="off"
    ).hits

    assert hits[0].key == "2023-05"
    assert {hit.key for hit in hits} == {"2023-03", "2023-05", "2023-09", "timeless"}
    best = hits[0].explanation
    assert best["period"]["words"] == "in May 2023"
    assert datetime.fromisoformat(best["period"]["since"]) == datetime(2023, 5, 1, tzinfo=UTC)
    assert datetime.fromisoformat(best["period"]["until"]) == datetime(2023, 6, 1, tzinfo=UTC)
    # The words are the same in all four, so a question about the past goes by the period, three times.
    assert best["relevance"]["features"]["period"] == 3
    assert best["relevance"]["period"] > 0


def test_the_weight_of_the_period_turns_it_off(memory: Memory) -> None:
    meetings(memory)

    hits = memory.search("the harbour master in May 2023", now=WEDNESDAY, weights={"period": 0}).hits

    assert len({hit.relevance for hit in hits}) == 1
    assert all("period" not in hit.explanation for hit in hits)


def test_the_moment_of_the_search_decides_what_last_means(memory: Memory) -> None:
    meetings(memory)

    for month in (3, 5, 9):
        then = datetime(2023, month, 28, tzinfo=UTC)
        found = memory.search("the harbour master this month", now=then, vitality_mode="off")
        assert found.hits[0].key == f"2023-{month:02}"


def test_the_sentence_names_the_period(memory: Memory, query: Query) -> None:
    meetings(memory)
    known = memory.get("2023-05").id

    (row,) = query(
        "SELECT recall.explain(%s, %s::jsonb, p_now => %s) ->> 'sentence' AS told",
        (known, '{"query": "harbour master in May 2023"}', WEDNESDAY),
    )

    assert 'The query names a period, "in May 2023": from 2023-05-01 until before 2023-06-01.' in row["told"]
