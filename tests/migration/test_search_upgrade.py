"""From revision 0003 with data to languages of one's own, and what changes when unaccent arrives later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from pgrecall.schema import migrate, state
from tests.databases import Query, new_database
from tests.given_server import Server
from tests.migration.catalogue import fetch, statements
from tests.migration.old_schemas import take_to

SETTINGS = (
    "INSERT INTO recall.setting (tenant, name, value) VALUES "
    "('*', 'embedding.dimensions', '64'), ('*', 'schema.functions', '\"of 0003\"')"
)
MEMORY = (
    "INSERT INTO recall.memory (tenant, key, layer, title, body, author, tags) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id"
)
ACTIVATION = (
    "INSERT INTO recall.activation (tenant, memory_id, n, first_at, t1, folded_until, decay, clock) "
    "VALUES (%s, %s, 1, 1700000000, 1700000000, to_timestamp(1700000000), 0.5, 1)"
)
NAME = (
    "INSERT INTO recall.name (tenant, name, memory_id, entity) VALUES (%s, lower(%s), %s, true) "
    "ON CONFLICT DO NOTHING"  # where a trigger has been quicker
)


def store(
    run: Query, key: str, body: str, *, tenant: str = "acme", title: str = "", author: str | None = None
) -> int:
    layer = "entity" if title else "knowledge"
    [row] = run(MEMORY, (tenant, key, layer, title, body, author, ["IT"]), tenant=tenant)
    run(ACTIVATION, (tenant, row["id"]), tenant=tenant)
    if title:
        run(NAME, (tenant, title, row["id"]), tenant=tenant)
    return int(row["id"])


def install_0003(url: str) -> None:
    """Revision 0003 without functions, with two tenants; the first one's words are counted, as of old."""
    take_to(url, "0003")
    fetch(url, SETTINGS)
    with statements(url) as old:
        store(old, "café", "José signed the contracts at the café", author="Zoë Åberg")
        store(old, "josé", "A pilot", title="José Muñoz")
        store(old, "long", "filler " * 20_000 + "pelican")
        store(old, "theirs", "Their contracts", tenant="other")
        old("INSERT INTO recall.lexeme VALUES ('acme', '', 2), ('acme', 'josé', 2), ('acme', 'gone', 7)")
        old(
            "INSERT INTO recall.relevance_model VALUES "
            "('acme', '*', 'balanced', -6, 7, 2, 2, 1, 2, 1, 'queries of our own')"
        )


STORED = "SELECT id, tenant, key, title, body, author, tags FROM recall.memory ORDER BY id"


@pytest.fixture(scope="module")
def upgraded(server: Server) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The name of a database of 0003 that came up to this version, and its memories before."""
    for url in new_database(server, "template1"):
        install_0003(url)
        with statements(url) as old:
            before = old(STORED)
        assert migrate.upgrade(url).after.revision == migrate.head_revision()
        yield str(conninfo_to_dict(url)["dbname"]), before


@pytest.fixture
def filled(server: Server, upgraded: tuple[str, list[dict[str, Any]]]) -> Iterator[Query]:
    """A copy of the upgraded database."""
    for url in new_database(server, upgraded[0]):
        with statements(url) as run:
            yield run


def found(run: Query, question: str, *, tenant: str = "acme") -> list[str]:
    rows = run("SELECT key FROM recall.search(%s) ORDER BY rank", (question,), tenant=tenant)
    return [row["key"] for row in rows]


def test_what_was_stored_is_found_in_the_new_way(
    filled: Query, upgraded: tuple[str, list[dict[str, Any]]]
) -> None:
    assert filled(STORED) == upgraded[1]
    assert {row["language"] for row in filled("SELECT language FROM recall.memory")} == {"english"}
    assert found(filled, "signing a contract at the cafe") == ["café"]
    assert found(filled, "signing a contract", tenant="other") == ["theirs"]
    assert found(filled, "jose munoz")[0] == "josé"
    assert found(filled, "what did Zoe sign") == ["café"]
    assert set(found(filled, "IT")) == {"café", "josé", "long"}


def test_the_end_of_a_long_memory_is_found_after_the_upgrade(filled: Query) -> None:
    assert found(filled, "pelican") == ["long"]


def test_words_that_were_counted_are_counted_again(filled: Query) -> None:
    counted = filled("SELECT tenant, word, documents FROM recall.lexeme ORDER BY 1, 2")
    assert {row["tenant"] for row in counted} == {"acme"}
    for tenant in ("acme", "other"):
        filled("SELECT recall.refresh_lexemes()", tenant=tenant)
    fresh = "SELECT tenant, word, documents FROM recall.lexeme WHERE tenant = 'acme' ORDER BY 1, 2"
    assert filled(fresh) == counted
    assert {"word": "jose", "documents": 2} in filled("SELECT word, documents FROM recall.lexeme")


def test_folded_words_that_were_stored_are_found_after_the_upgrade(
    empty_database: str,
) -> None:
    take_to(empty_database, "0027")
    with statements(empty_database) as run:
        store(run, "wide", "ＰＯＳＴＧＲＥＳの設定", title="ﾀﾅｶ", author="Ｎｏｒａ Ｂ")
        store(run, "kana", "ﾃﾞｰﾀﾍﾞｰｽ")
        store(run, "code", "HTTPServer2")
        store(run, "signed", "plain words", author="Ｗｉｄｅ")
        migrate.upgrade(empty_database, dimensions=64)

        for question, key in {
            "postgres": "wide", "タナカ": "wide", "データベース": "kana", "http server": "code",
            "what did wide say": "signed",
        }.items():  # fmt: skip
            assert found(run, question)[0] == key, question
        assert run("SELECT body FROM recall.memory WHERE key = 'kana'") == [{"body": "ﾃﾞｰﾀﾍﾞｰｽ"}]
        words = "SELECT id, search_text::text, updated_at FROM recall.memory ORDER BY id"
        before = run(words)
        run("UPDATE recall.memory SET language = language")
        assert run(words) == before


def test_stored_statements_that_something_changed_are_found_out(empty_database: str) -> None:
    take_to(empty_database, "0035")
    with statements(empty_database) as run:
        store(run, "moved", "The demo moved to 5 June.")
        store(run, "note", "The demo moved to 5 June.", title="Demo")
        store(run, "marked", "The demo moved to 6 June.")
        store(run, "plain", "The demo is in the old hall.")
        run("UPDATE recall.memory SET speech_act = 'statement', act_marked = key = 'marked'")
        migrate.upgrade(empty_database, dimensions=64)

        acts = {row["key"]: row["speech_act"] for row in run("SELECT key, speech_act FROM recall.memory")}
        assert acts == {"moved": "change", "note": "statement", "marked": "statement", "plain": "statement"}
        run("UPDATE recall.memory SET body = 'The demo is postponed.' WHERE key = 'plain'")
        assert run("SELECT speech_act FROM recall.memory WHERE key = 'plain'") == [{"speech_act": "change"}]


def test_coefficients_of_ones_own_stay_and_are_logistic(filled: Query) -> None:
    [model] = filled("SELECT * FROM recall.relevance_model WHERE tenant = 'acme'")
    assert (model["intercept"], model["fitted_on"], model["form"]) == (-6, "queries of our own", "logistic")
    assert (model["cue"], model["graph"]) == (0, 0)
    assert (model["vitality_weight"], model["vitality_mode"]) == (None, None)


def test_a_table_of_ones_own_that_hangs_on_a_column_stops_the_upgrade_unharmed(empty_database: str) -> None:
    install_0003(empty_database)
    fetch(empty_database, "CREATE VIEW public.words AS SELECT id, search_text FROM recall.memory")
    with pytest.raises(Exception, match="other objects depend on it"):
        migrate.upgrade(empty_database)
    assert migrate.inspect(empty_database).revision == "0003"
    assert len(fetch(empty_database, "SELECT id FROM public.words")) == 4


# A server that does not offer unaccent, until it does


@pytest.fixture
def without_unaccent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """As long as this patch holds, nobody asks the server for the extension."""
    script = state.roles_file().read_text()
    copy = tmp_path / "roles.sql"
    assert script.count("a.name = 'unaccent' AND") == 1
    copy.write_text(script.replace("a.name = 'unaccent' AND", "false AND"))
    with monkeypatch.context() as patch:
        patch.setattr(state, "roles_file", lambda: copy)
        # A digest that is kept would be that of either file.
        computed = state.functions_fingerprint.__wrapped__
        for module in (state, migrate):
            patch.setattr(module, "functions_fingerprint", computed)
        yield patch


CONFIGURATIONS = (
    "SELECT cfgname, tokid, array_agg(d.dictname ORDER BY mapseqno) AS dictionaries "
    "FROM pg_ts_config c JOIN pg_ts_config_map m ON mapcfg = c.oid JOIN pg_ts_dict d ON d.oid = mapdict "
    "JOIN ts_token_type('default') ON tokid = maptokentype "
    "WHERE cfgnamespace = 'recall'::regnamespace GROUP BY 1, 2 ORDER BY 1, 2"
)


def likeness(run: Query, name: str) -> float:
    rows = run(
        "SELECT similarity FROM recall_private.names_in_query('acme', "
        "recall_private.text_configuration('acme'), %s, '{}', recall_private.query_phrases(%s))",
        (name, name),
    )
    return max((row["similarity"] for row in rows), default=0.0)


def test_accents_count_until_unaccent_arrives(
    empty_database: str, without_unaccent: pytest.MonkeyPatch
) -> None:
    migrate.upgrade(empty_database, dimensions=64)
    with statements(empty_database) as run:
        store(run, "café", "José signed the contracts at the café", author="Zoë Åberg")
        store(run, "josé", "A pilot", title="José Muñoz")
        run("SELECT recall.refresh_lexemes()")
        assert run("SELECT recall_private.removes_accents() AS off") == [{"off": False}]
        assert likeness(run, "jose munoz") < 1
        assert likeness(run, "José Muñoz") == 1
        assert found(run, "at the cafe") == []
        assert found(run, "what did Zoe order") == []
        assert found(run, "what did Zoë order") == ["café"]

        without_unaccent.undo()
        assert migrate.upgrade(empty_database).changed
        assert run("SELECT recall_private.removes_accents() AS off") == [{"off": True}]
        assert likeness(run, "jose munoz") == 1
        assert found(run, "at the cafe") == ["café"]
        assert found(run, "what did Zoe order") == ["café"]
        assert run("SELECT documents FROM recall.lexeme WHERE word = 'jose'") == [{"documents": 2}]
        assert run("SELECT documents FROM recall.lexeme WHERE word = 'josé'") == []
        assert not migrate.upgrade(empty_database).changed


def test_configurations_do_not_depend_on_when_unaccent_came(
    empty_database: str, database_url: str, without_unaccent: pytest.MonkeyPatch
) -> None:
    migrate.upgrade(empty_database, dimensions=64)
    without_unaccent.undo()
    migrate.upgrade(empty_database)
    with statements(empty_database) as late, statements(database_url) as early:
        assert late(CONFIGURATIONS) == early(CONFIGURATIONS)


def test_a_configuration_that_was_changed_by_hand_stays_as_it_is(database_url: str) -> None:
    with statements(database_url) as run:
        run("ALTER TEXT SEARCH CONFIGURATION recall.english ALTER MAPPING FOR asciiword WITH simple")
        changed = run(CONFIGURATIONS)
        migrate.upgrade(database_url)
        assert run(CONFIGURATIONS) == changed


def test_functions_that_read_the_coefficient_phrase_do_not_keep_it(empty_database: str) -> None:
    take_to(empty_database, "0042")
    fetch(
        empty_database,
        "CREATE FUNCTION recall_private.relevance_logit(w recall.relevance_model) RETURNS float8 "
        "LANGUAGE sql RETURN w.phrase",
    )
    fetch(
        empty_database,
        "CREATE FUNCTION recall.of_old(q recall.analyzed_query) RETURNS tsquery LANGUAGE sql RETURN q.phrase",
    )
    assert migrate.upgrade(empty_database, dimensions=64).after.revision == migrate.head_revision()
    with statements(empty_database) as run:
        assert run("SELECT to_regprocedure('recall.of_old(recall.analyzed_query)') AS f") == [{"f": None}]
