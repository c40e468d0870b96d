"""A Postgres that somebody else has set up: with any defaults, every command answers as on a plain one."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.acceptance.cli.command_tools import Command
from tests.databases import dropped
from tests.given_server import Server
from tests.unit.importers.chat_forms import write_lines

NOTES = (
    {
        "key": "winch",
        "body": "The winch\u2019s \u201cblue\u201d rope \U0001faa2 is 40 m. C:\\new 'q' \\' and $$",
        "occurred_at": "2026-03-01T10:00:00Z", "tags": ["NULL", "a,b", "{x}"], "links": [{"target": "crane"}],
    },
    {
        "key": "crane", "body": "Der Kran wird montags gepr\u00fcft", "title": "Kran",
        "occurred_at": "2026-02-13T23:30:00Z", "author": "Mira O'Neil",
    },
    {
        "key": "ferry", "body": "The ferries berth at the north quay", "layer": "episodic",
        "valid_until": "2026-12-24T00:00:00Z", "metadata": {"depth": 1.25},
    },
)  # fmt: skip
Said = tuple[str, int, str, str]
NOW = ("--now", "2026-03-05T12:00:00Z")
TOUR: tuple[tuple[str, ...], ...] = (
    ("init",),
    ("import", "notes.jsonl", "--source", "tour", "--now", "2026-03-03"),
    ("list", *NOW, "--json"),
    ("show", "winch", *NOW, "--json"),
    ("search", "where do the ferries berth?", *NOW, "--json"),
    ("search", "Kran Mira montag", *NOW, "--explain"),
    ("search", "winch's rope", "--tag", "a,b", "--since", "2026-02-28", "--until", "2026-03-02", *NOW),
    ("access", "winch", "--kind", "used", "--at", "2026-03-04T08:00:00Z", "--now", "2026-03-05"),
    ("edit", "crane", "--body", "Der Kran wird dienstags gepr\u00fcft", *NOW),
    ("history", "crane"),
    ("diff", "crane", "1"),
    ("show", "winch", *NOW),
    ("context", "rope of the winch", *NOW),
    ("jobs", "run", "fold", *NOW),
    ("prune", *NOW),
    ("dedupe", *NOW),
    ("export", "-", *NOW),
    ("verify", *NOW),
    ("status", *NOW),
    ("doctor",),
)


def tour(pgrecall: Command, url: str) -> list[Said]:
    """What every command of the tour says, without what differs from run to run."""
    said = []
    for command in TOUR:
        done = pgrecall(*command, database_url=url)
        out = "" if "export" in command else _steady(done.out)
        said.append((" ".join(command[:2]), done.code, out, _steady(done.err)))
    return said


def _steady(text: str) -> str:
    for pattern, instead in _CHANGING:
        text = re.sub(pattern, instead, text)
    return text


_CHANGING = (
    (r"test_[0-9a-f]{12}", "DATABASE"),
    (r"\d{4}-\d\d-\d\d[ T][\d:.]+(Z|[+-]\d\d:\d\d| UTC| [+-]\d\d)?", "TIME"),
    (r"Milliseconds: .*|[\d.]+ s\b|just now|\d+ (seconds?|minutes?) ago", "DURATION"),
    (r'"(names|embedding|database|total|search_id)": [\d.]+', r'"\1": N'),
    (r"\b1-\d+-\d+\b", "CURSOR"),
    (r"(\d\.\d\d)\d+(e-\d+)?", r"\1"),  # vitality changes from second to second
)
"""What differs from run to run."""


SETTINGS: dict[str, dict[str, str]] = {
    "nothing": {},
    "a German": {
        "default_text_search_config": "german", "DateStyle": "German, DMY", "IntervalStyle": "sql_standard",
        "TimeZone": "Pacific/Apia", "client_encoding": "LATIN1", "search_path": "elsewhere",
    },
    "an old application": {
        "standard_conforming_strings": "off", "backslash_quote": "on", "escape_string_warning": "off",
        "bytea_output": "escape", "transform_null_equals": "on",
        "extra_float_digits": "-10", "xmloption": "document",
        "client_min_messages": "debug1", "log_statement": "all",
    },
    "a careful one": {
        "default_transaction_isolation": "serializable", "row_security": "off",
        "default_tablespace": "pg_default",
    },
    "repeatable reads": {
        "default_transaction_isolation": "repeatable read", "default_transaction_deferrable": "on",
    },
    "parallel": {
        "debug_parallel_query": "on", "parallel_setup_cost": "0", "min_parallel_table_scan_size": "0",
    },
    "plans": {
        "plan_cache_mode": "force_generic_plan", "work_mem": "64kB", "hash_mem_multiplier": "1",
        "random_page_cost": "40", "enable_nestloop": "off",
        "jit": "on", "jit_above_cost": "0", "jit_optimize_above_cost": "0", "jit_inline_above_cost": "0",
    },
    "quotes": {"quote_all_identifiers": "on"},
    "an impatient one": {"idle_in_transaction_session_timeout": "20ms"},
    "no nulls in arrays": {"array_nulls": "off"},
}  # fmt: skip


@pytest.fixture
def new_database(server: Server) -> Iterator[Callable[..., str]]:
    """Creates databases, each with settings of its own."""
    names: list[str] = []
    with psycopg.connect(server.url, autocommit=True) as admin:

        def create(settings: Mapping[str, str], how: str = "") -> str:
            names.append(f"test_{uuid.uuid4().hex[:12]}")
            admin.execute(f"CREATE DATABASE {names[-1]} {how}".encode())
            for setting, value in settings.items():
                values = sql.SQL(", ").join(map(sql.Literal, value.split(", ")))
                admin.execute(
                    sql.SQL("ALTER DATABASE {} SET {} = {}").format(
                        sql.Identifier(names[-1]), sql.Identifier(setting), values
                    )
                )
            return make_conninfo(server.url, dbname=names[-1])

        yield create
        for name in names:
            dropped(admin, name)


@pytest.fixture(scope="module")
def plain() -> list[Said]:
    """The tour on a plain server, once it was made."""
    return []


@pytest.mark.parametrize("name", SETTINGS)
def test_every_command_answers_as_on_a_plain_server(
    name: str, bare_pgrecall: Command, new_database: Callable[..., str], plain: list[Said], tmp_path: Path
) -> None:
    write_lines(tmp_path / "notes.jsonl", NOTES)
    if not plain:
        plain.extend(tour(bare_pgrecall, new_database({})))
    for found, expected in zip(tour(bare_pgrecall, new_database(SETTINGS[name])), plain, strict=True):
        assert found == expected


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_hold_all_letters_is_refused(
    encoding: str, bare_pgrecall: Command, new_database: Callable[..., str]
) -> None:
    url = new_database({}, f"ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C' LOCALE_PROVIDER libc")
    refused = bare_pgrecall("init", database_url=url)
    assert (refused.code, refused.out) != (0, "")
    assert f"has the encoding {encoding}, and memories need UTF8" in refused.err


def test_a_database_without_triggers_is_refused(
    bare_pgrecall: Command, new_database: Callable[..., str]
) -> None:
    """Names of memories would not be kept, and links could lead nowhere."""
    url = new_database({"session_replication_role": "replica"})
    refused = bare_pgrecall("init", database_url=url)
    assert refused.code == 3
    assert "session_replication_role is replica, so that no trigger runs" in refused.err
    assert "RESET session_replication_role" in refused.err
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT to_regnamespace('recall')").fetchone() == (None,)

    url = new_database({})
    assert bare_pgrecall("init", database_url=url).code == 0
    with psycopg.connect(url, autocommit=True) as connection:
        name = sql.Identifier(connection.info.dbname)
        connection.execute(sql.SQL("ALTER DATABASE {} SET session_replication_role = replica").format(name))
    examined = bare_pgrecall("doctor", "--only", "server", database_url=url)
    assert examined.code == 1
    assert "no trigger runs, so new names are not found" in re.sub(r"\s+", " ", examined.out)


def test_a_call_that_takes_longer_than_the_server_allows_says_so(
    bare_pgrecall: Command, new_database: Callable[..., str]
) -> None:
    refused = bare_pgrecall("init", database_url=new_database({"statement_timeout": "1ms"}))
    assert refused.code != 0
    assert "raise statement_timeout for this role" in refused.err


def test_names_and_passwords_with_any_letters(bare_pgrecall: Command, server: Server) -> None:
    """A database and a role whose names need quotes; the password is %-escaped in the URL."""
    name = f'my "db" é {uuid.uuid4().hex[:8]}'
    quoted, password = sql.Identifier(name), "p@ss:w/ö %'\""
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN SUPERUSER PASSWORD {}").format(quoted, password))
        admin.execute(sql.SQL("CREATE DATABASE {}").format(quoted))
        try:
            where = psycopg.conninfo.conninfo_to_dict(server.url)
            url = (
                f"postgresql://{quote(name, safe='')}:{quote(password, safe='')}@/{quote(name, safe='')}"
                f"?host={quote(str(where['host']), safe='')}&port={where.get('port', 5432)}"
            )
            assert bare_pgrecall("init", database_url=url).code == 0
            assert bare_pgrecall("remember", "The ferry berths", database_url=url).code == 0
            found = bare_pgrecall("search", "ferry", "--json", database_url=url).json
            assert [hit["body"] for hit in found["hits"]] == ["The ferry berths"]
            assert bare_pgrecall("doctor", database_url=url).code == 0
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(quoted))
            admin.execute(sql.SQL("DROP ROLE {}").format(quoted))
