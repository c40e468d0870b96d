"""A tenant's language: which words are one, which say nothing, and what happens when it changes."""

from __future__ import annotations

import threading

import psycopg
import pytest
from psycopg.rows import dict_row

from pgrecall import InvalidInput, Languages, Memory
from tests.databases import Query
from tests.integration.search.search_tools import remember
from tests.waiting import PATIENCE, blocked

pytestmark = pytest.mark.in_turns

SONG = "Marta cantaba una canción para el puerto"
SUNG = "cantaron"
"""Its stem is that of ``cantaba`` in Spanish, and its own in English."""


def found(query: Query, question: str, *, tenant: str = "acme") -> list[int]:
    rows = query("SELECT id FROM recall.search(%s) ORDER BY rank", (question,), tenant=tenant)
    return [row["id"] for row in rows]


def set_language(query: Query, name: str | None, *, tenant: str = "acme") -> int:
    [row] = query("SELECT recall.set_language(%s) AS changed", (name,), tenant=tenant)
    return int(row["changed"])


def languages_of_memories(query: Query, tenant: str = "acme") -> set[str]:
    rows = query("SELECT DISTINCT language FROM recall.memory WHERE tenant = %s", (tenant,))
    return {row["language"] for row in rows}


def lexemes(query: Query, text: str, tenant: str = "acme") -> list[str]:
    [row] = query(
        "SELECT tsvector_to_array(to_tsvector(recall_private.text_configuration(%s), %s)) AS words",
        (tenant, text),
    )
    return sorted(row["words"])


def test_a_tenant_speaks_english_until_it_chooses_otherwise(query: Query) -> None:
    remember(query, SONG)
    assert languages_of_memories(query) == {"english"}
    assert lexemes(query, "the contracts were signed") == ["contract", "sign"]


def test_another_language_makes_other_words_one(query: Query) -> None:
    song = remember(query, SONG)
    assert found(query, SUNG) == []
    assert set_language(query, "spanish") == 1
    assert found(query, SUNG) == [song]
    assert lexemes(query, "las canciones para el puerto") == ["cancion", "puert"]


def test_what_is_stored_later_takes_the_language_and_an_update_keeps_it(query: Query) -> None:
    set_language(query, "spanish")
    song = remember(query, SONG, key="song")
    assert remember(query, SONG + " viejo", key="song") == song
    assert languages_of_memories(query) == {"spanish"}
    assert found(query, SUNG) == [song]


def test_a_language_is_the_tenants_own(query: Query) -> None:
    remember(query, SONG, tenant="acme")
    theirs = remember(query, "The contracts were signed", tenant="other")
    set_language(query, "spanish", tenant="acme")
    assert languages_of_memories(query, "other") == {"english"}
    assert found(query, "signing a contract", tenant="other") == [theirs]


def test_a_language_of_the_database_is_everybodys_who_has_none(query: Query) -> None:
    query("INSERT INTO recall.setting (tenant, name, value) VALUES ('*', 'language', '\"german\"')")
    set_language(query, "spanish", tenant="acme")
    assert lexemes(query, "die Verträge", tenant="other") == ["vertrag"]
    assert lexemes(query, "las canciones", tenant="acme") == ["cancion"]


def test_a_language_is_in_order_where_the_server_has_it(query: Query) -> None:
    problems = "SELECT recall.verify() -> 'problems' AS number"
    set_language(query, "spanish")
    assert query(problems) == [{"number": 0}]
    query("UPDATE recall.setting SET value = '\"klingon\"' WHERE name = 'language' AND tenant = 'acme'")
    assert query(problems) == [{"number": 1}]


def test_changing_the_language_counts_the_words_again(query: Query) -> None:
    remember(query, SONG)
    remember(query, "Otros cantaron")
    query("SELECT recall.refresh_lexemes()")
    set_language(query, "spanish")
    rows = query("SELECT word, documents FROM recall.lexeme WHERE word IN ('', 'cant', 'cantaba') ORDER BY 1")
    assert rows == [{"word": "", "documents": 2}, {"word": "cant", "documents": 2}]


def test_archived_memories_are_reindexed_too(query: Query) -> None:
    song = remember(query, SONG)
    query("SELECT recall.forget(%s)", (song,))
    assert set_language(query, "spanish") == 1
    assert set_language(query, "spanish") == 0


UNKNOWN = {
    "georgian": ("ნავსადგური დღეს დახურულია", "სად არის ნავსადგური?"),
    "swahili": ("Bandari imefungwa leo jioni", "Bandari iko wapi?"),
    "thai": ("ท่าเรือ ปิด วันนี้", "ท่าเรือ อยู่ ไหน"),
    "amharic": ("ወደቡ ዛሬ ተዘግቷል", "ወደቡ የት ነው?"),
    "cherokee": ("ᎤᏔᎾ ᎥᏓᎵ ᎪᎱᏍᏗ", "ᎥᏓᎵ ᎭᏢ?"),
}
"""Texts and questions in languages that Postgres has no configuration for."""


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(("text", "question"), UNKNOWN.values(), ids=UNKNOWN)
def test_a_language_without_configuration_and_statistics_is_searched_by_its_words(
    query: Query, text: str, question: str, counted: bool
) -> None:
    remember(query, "The harbour is closed today")
    if counted:
        query("SELECT recall.refresh_statistics()")
    memory = remember(query, text)

    [hit] = query("SELECT id, relevance FROM recall.search(%s)", (question,))

    assert hit["id"] == memory
    assert 0 < hit["relevance"] < 1


@pytest.mark.parametrize("name", ["klingon", "", None, "Spanish", "x'; DROP TABLE x; --", "x" * 9999])
def test_a_language_that_is_not_there_is_refused(query: Query, name: str | None) -> None:
    remember(query, SONG)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=r"^There is no language") as caught:
        set_language(query, name)
    assert len(caught.value.diag.message_primary or "") < 200
    assert "english" in (caught.value.diag.message_hint or "")
    assert "spanish" in (caught.value.diag.message_hint or "")
    assert languages_of_memories(query) == {"english"}


def test_a_configuration_of_ones_own_is_a_language(query: Query) -> None:
    query("CREATE TEXT SEARCH CONFIGURATION recall.harbour (COPY = recall.english)")
    query("ALTER TEXT SEARCH CONFIGURATION recall.harbour ALTER MAPPING FOR asciiword WITH pg_catalog.simple")
    exact = remember(query, "The contracts were signed")
    set_language(query, "harbour")
    assert found(query, "signing") == []
    assert found(query, "signed") == [exact]


def test_accents_do_not_distinguish_words(query: Query) -> None:
    visit = remember(query, "José Muñoz came to the café at Ålesund")
    for question in ("jose", "José", "munoz cafe", "alesund"):
        assert found(query, question) == [visit], question


def test_a_stop_word_with_an_accent_says_nothing(query: Query) -> None:
    set_language(query, "spanish")
    assert lexemes(query, "él también está más allá del puerto") == ["alla", "puert"]


def test_what_is_stored_while_the_language_changes_is_read_in_the_new_one(
    query: Query, database_url: str
) -> None:
    first = remember(query, SONG)
    changed: list[int] = []
    with psycopg.connect(database_url, row_factory=dict_row) as writer:
        writer.execute("SELECT set_config('recall.tenant', 'acme', true)")
        writer.execute("SELECT recall.remember(%s)", (SONG + " viejo",))
        change = threading.Thread(target=lambda: changed.append(set_language(query, "spanish")))
        change.start()
        blocked(writer)
        writer.commit()
    change.join(timeout=PATIENCE)
    assert changed == [2]
    assert languages_of_memories(query) == {"spanish"}
    assert first in found(query, SUNG)


def test_no_column_keeps_what_pg_upgrade_refuses(query: Query) -> None:
    rows = query(
        "SELECT attrelid::regclass::text AS home, attname "
        "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "WHERE c.relnamespace = 'recall'::regnamespace AND NOT attisdropped AND atttypid::regtype::text IN "
        "('regcollation', 'regconfig', 'regdictionary', 'regnamespace', 'regoper', 'regoperator', 'regproc', "
        "'regprocedure')"
    )
    assert rows == []


# From Python


def test_the_client_reads_and_changes_the_language(memory: Memory) -> None:
    memory.remember(SONG)
    known = memory.settings.languages()
    assert isinstance(known, Languages)
    assert (known.language, known.accents_off) == ("english", True)
    assert {"english", "simple", "spanish"} <= set(known.available)
    assert memory.settings.set_language("spanish") == 1
    assert memory.settings.languages().language == "spanish"
    assert (memory.status().language, memory.status().accents_off) == ("spanish", True)
    assert memory.search(SUNG).hits[0].body == SONG


@pytest.mark.parametrize("name", ["klingon", "", "a\0b", "\ud800"])
def test_the_client_refuses_a_language_that_is_not_there(memory: Memory, name: str) -> None:
    with pytest.raises(InvalidInput):
        memory.settings.set_language(name)
    assert memory.settings.languages().language == "english"
