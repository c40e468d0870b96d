"""Installing without superuser, as on a managed Postgres, on a server that has no roles of ours yet."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import DatabaseUnsuitable, InvalidInput, Memory
from pgrecall.embedded.shared_server import SERVING_ROLE, EmbeddedServer
from pgrecall.faces import doctor
from pgrecall.schema import migrate, roles, state
from pgrecall.schema.revisions import run_revisions
from pgrecall.settings import Settings
from tests.databases import dropped
from tests.given_server import GIVEN, GivenServer, Server, embedded_only
from tests.server_folders import server_folder

OURS = ("recall_owner", "recall_reader", "recall_app", "recall_worker")
ROLES = "SELECT rolname FROM pg_roles ORDER BY rolname"
OWNERS = (
    "SELECT DISTINCT o.rolname FROM (SELECT nspowner AS oid FROM pg_namespace "
    "WHERE nspname IN ('recall', 'recall_private') "
    "UNION ALL SELECT relowner FROM pg_class WHERE relnamespace = 'recall'::regnamespace "
    "UNION ALL SELECT proowner FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
    "WHERE n.nspname IN ('recall', 'recall_private') "
    "UNION ALL SELECT cfgowner FROM pg_ts_config WHERE cfgnamespace = 'recall'::regnamespace) x "
    "JOIN pg_roles o ON o.oid = x.oid"
)


def fetch(url: str, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql, parameters)
        return cursor.fetchall() if cursor.description is not None else []


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with server_folder() as path:
        yield path


@pytest.fixture(scope="module")
def own_server(folder: Path) -> Iterator[Server]:
    """A server of this file's own, since roles belong to a whole server; or a given one without ours."""
    if GIVEN is not None:
        require_no_roles(GIVEN)
        yield GivenServer(GIVEN)
        return
    with EmbeddedServer.start(folder / "data", fast=True) as running:
        yield running


def require_no_roles(url: str) -> None:
    """Drops the roles of pgrecall where nothing depends on them, else skips."""
    try:
        for role in OURS:
            fetch(url, f"DROP ROLE IF EXISTS {role}")
    except psycopg.errors.DependentObjectsStillExist:
        pytest.skip("The server of PGRECALL_TEST_SERVER has pgrecall in a database; run this file alone.")


class Site:
    """A database, the role that owns it and installs, and what an administrator does."""

    def __init__(self, server: Server, name: str) -> None:
        self.admin = make_conninfo(server.url, dbname=name)
        self.installer = make_conninfo(server.url, dbname=name, user=name)
        self.name = name

    def as_role(self, role: str) -> Memory:
        return Memory(make_conninfo(self.admin, user=role), settings=Settings(embedder="none", tenant="acme"))


@pytest.fixture
def site(own_server: Server) -> Iterator[Site]:
    """Its installer may create in the database and nothing else; vector needs an administrator everywhere."""
    name = f"site_{uuid.uuid4().hex[:8]}"
    before = fetch(own_server.url, ROLES)
    fetch(own_server.url, f"CREATE ROLE {name} LOGIN")
    fetch(own_server.url, f"CREATE DATABASE {name} OWNER {name}")
    made = Site(own_server, name)
    fetch(made.admin, "CREATE EXTENSION vector")
    yield made
    with psycopg.connect(own_server.url, autocommit=True) as admin:
        dropped(admin, name)
    added = [row[0] for row in fetch(own_server.url, ROLES) if row not in before]
    for role in added:
        fetch(own_server.url, f"DROP OWNED BY {role}")
    for role in added:
        fetch(own_server.url, f"DROP ROLE {role}")


def test_a_role_that_may_make_roles_installs_all_of_it(site: Site) -> None:
    fetch(site.admin, f"ALTER ROLE {site.name} CREATEROLE")
    done = migrate.upgrade(site.installer, dimensions=64)
    assert done.left == ()
    assert fetch(site.admin, OWNERS) == [("recall_owner",)]
    assert not migrate.upgrade(site.installer).changed
    # It stays an administrator, and is the owner only when it says so.
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        fetch(site.installer, "SELECT FROM recall.memory")
    with site.as_role(site.name) as memory:
        memory.remember("The harbour contract")
        assert [hit.body for hit in memory.search("contract").hits] == ["The harbour contract"]
        assert memory.service.caller().administers

    roles.create(site.installer, f"{site.name}_app", may="app", tenant="acme", password="it's secret")
    with site.as_role(f"{site.name}_app") as memory:
        assert [hit.body for hit in memory.for_tenant("globex").search("contract").hits] == [
            "The harbour contract"
        ]
        assert (memory.service.caller().tenant, memory.service.caller().may) == ("acme", "app")
    with pytest.raises(DatabaseUnsuitable, match="may not act as it"):
        migrate.upgrade(make_conninfo(site.admin, user=f"{site.name}_app"))
    assert roles.bind(site.installer, f"{site.name}_app", "globex")
    [bound] = roles.bindings(site.installer)
    assert (bound.role, bound.tenant, bound.may) == (f"{site.name}_app", "globex", "app")
    unrestricted = "would not restrict it"
    for role, why in (("postgres", unrestricted), (site.name, unrestricted), ("nobody", "There is no role")):
        with pytest.raises(InvalidInput, match=why):
            roles.bind(site.installer, role, "acme")
    assert roles.unbind(site.installer, bound.role)
    with site.as_role(bound.role) as memory, pytest.raises(DatabaseUnsuitable, match="bound to no tenant"):
        memory.search("contract")


def test_without_roles_it_installs_for_the_installer_and_says_so(site: Site) -> None:
    """And what it says, done by an administrator, makes the rest of it at the next upgrade."""
    done = migrate.upgrade(site.installer, dimensions=64)
    assert {left.problem for left in done.left} == {
        *(f"There is no role {role}" for role in OURS),
        f"The schema recall belongs to {site.name}, which can log in, instead of recall_owner",
    }
    assert not any(left.grave for left in done.left)
    assert fetch(site.admin, OWNERS) == [(site.name,)]
    with site.as_role(site.name) as memory:
        memory.remember("The harbour contract")
        assert len(memory.search("contract").hits) == 1
    fetch(site.admin, "CREATE ROLE a_stranger LOGIN")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="schema recall"):
        fetch(make_conninfo(site.admin, user="a_stranger"), "SELECT recall.status()")

    for left in done.left:
        fetch(site.admin, left.fix)
    assert migrate.upgrade(site.installer).left == ()
    assert fetch(site.admin, OWNERS) == [("recall_owner",)]
    with site.as_role(site.name) as memory:
        assert len(memory.search("contract").hits) == 1


def usable(site: Site) -> bool:
    """Whether the installer can store and find a memory."""
    with site.as_role(site.name) as memory:
        memory.remember("The harbour contract")
        return len(memory.search("contract").hits) > 0


def printed(site: Site) -> list[str]:
    """The SQL that the doctor prints to the installer."""
    found = [*doctor.check_server(roles.examine(site.installer))]
    with suppress(DatabaseUnsuitable):  # who may call nothing has been told so
        found += doctor.check_rights(roles.rights(site.installer))
    return [finding.fix.removeprefix("as an administrator: ") for finding in found if finding.fix]


def test_what_is_printed_can_be_run_in_parts(site: Site) -> None:
    """After each statement an upgrade leaves the installer able to work; nothing is handed over too early."""
    for step in range(9):
        done = migrate.upgrade(site.installer, dimensions=64)
        assert usable(site)
        if not done.left:
            break
        # All but the right to use memories, as the note of earlier versions had it, and then the rest.
        statement = done.left[0].fix.split("; --")[0]
        if step == 4:
            statement = statement.split(";")[0]
        fetch(site.admin, statement)
    assert step == 6
    assert fetch(site.admin, OWNERS) == [("recall_owner",)]
    assert printed(site) == []


@pytest.mark.parametrize("rights", ["NOCREATEROLE", "CREATEROLE", "NOINHERIT"])
def test_roles_of_another_database_are_granted_as_printed(site: Site, rights: str) -> None:
    """The roles are there and belong to an administrator, who has to grant them."""
    for role in OURS:
        fetch(site.admin, f"CREATE ROLE {role} NOLOGIN")
    fetch(site.admin, f"ALTER ROLE {site.name} {rights}")
    [left] = migrate.upgrade(site.installer, dimensions=64).left
    assert printed(site) == [f"{left.fix};"]
    assert usable(site)
    assert fetch(site.admin, OWNERS) == [(site.name,)]
    fetch(site.admin, left.fix)
    assert migrate.upgrade(site.installer).left == ()
    assert fetch(site.admin, OWNERS) == [("recall_owner",)]
    assert usable(site)
    assert printed(site) == []


def test_a_superuser_has_nothing_left_to_run(site: Site) -> None:
    assert migrate.upgrade(site.admin, dimensions=64).left == ()
    assert fetch(site.admin, OWNERS) == [("recall_owner",)]
    assert roles.rights(site.admin) == ()


def test_an_installer_locked_out_by_an_earlier_version_gets_instructions(site: Site) -> None:
    fetch(site.admin, f"ALTER ROLE {site.name} CREATEROLE")
    migrate.upgrade(site.installer, dimensions=64)
    fetch(site.admin, f"ALTER ROLE {site.name} NOCREATEROLE")
    for grantor in (site.name, "CURRENT_USER"):
        fetch(site.admin, f"REVOKE recall_worker FROM {site.name} GRANTED BY {grantor} CASCADE")
    with pytest.raises(DatabaseUnsuitable, match="denied"):
        usable(site)
    [left] = migrate.upgrade(site.installer).left
    assert left.problem == f"Role {site.name} may upgrade the schema, but may not use memories"
    [fix] = printed(site)
    assert fix == left.fix
    fetch(site.admin, fix)
    assert usable(site)
    assert migrate.upgrade(site.installer).left == ()


@pytest.mark.parametrize("rights", ["NOCREATEROLE", "CREATEROLE"])
def test_what_creating_a_role_prints_can_be_run(site: Site, rights: str) -> None:
    """The roles belong to an administrator; whoever installs is told one statement after the other."""
    migrate.upgrade(site.admin, dimensions=64)
    fetch(site.admin, f"ALTER ROLE {site.name} {rights}")
    ran = created_as_printed(site, "reader") + created_as_printed(site, "app", password="it's secret")
    expected = [
        f"ALTER ROLE {site.name} CREATEROLE;",
        f"GRANT recall_reader TO {site.name} WITH ADMIN OPTION;",
        f"GRANT recall_owner TO {site.name} WITH INHERIT FALSE, SET TRUE;",
        f"GRANT recall_app TO {site.name} WITH ADMIN OPTION;",
    ]
    assert ran == expected[rights == "CREATEROLE" :]
    with site.as_role("new_role") as memory:
        memory.remember("The harbour contract")
        assert (memory.service.caller().tenant, memory.service.caller().may) == ("acme", "app")


def test_a_role_of_others_is_changed_as_printed(site: Site) -> None:
    fetch(site.admin, f"ALTER ROLE {site.name} CREATEROLE")
    migrate.upgrade(site.installer, dimensions=64)
    fetch(site.admin, "CREATE ROLE new_role LOGIN")
    assert created_as_printed(site, "app", password="secret") == [
        f"GRANT new_role TO {site.name} WITH ADMIN OPTION, INHERIT FALSE, SET FALSE;"
    ]


def created_as_printed(site: Site, may: roles.Rights, password: str | None = None) -> list[str]:
    """Creates a role; what each refusal prints is run. Returns it all."""
    ran: list[str] = []
    while True:
        before = fetch(site.admin, ROLES)
        try:
            roles.create(site.installer, "new_role", may=may, tenant="acme", password=password)
        except DatabaseUnsuitable as refused:
            assert fetch(site.admin, ROLES) == before
            ran.append(refused.hint.removeprefix("An administrator runs: "))
            assert ran[-1] not in ran[:-1]
            fetch(site.admin, ran[-1])
        else:
            return ran


@pytest.mark.parametrize("name", ["Me, too", "it's-me", 'the "one"'])
def test_names_are_printed_as_sql_takes_them(site: Site, name: str) -> None:
    role = roles.quoted(name)
    migrate.upgrade(site.admin, dimensions=64)
    fetch(site.admin, f"CREATE ROLE {role} LOGIN")
    fetch(site.admin, f"GRANT CREATE ON DATABASE {site.name} TO {role}")
    login = make_conninfo(site.admin, user=name)
    try:
        with pytest.raises(DatabaseUnsuitable) as refused:
            migrate.upgrade(login)
        fetch(site.admin, refused.value.hint.removeprefix("An administrator runs: "))
        [left] = migrate.upgrade(login).left
        fetch(site.admin, left.fix)
        assert migrate.upgrade(login).left == ()
    finally:
        fetch(site.admin, f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.parametrize("revision", ["0001", "0004"])
def test_from_earlier_revisions_with_data(site: Site, revision: str) -> None:
    """As it was before there were roles: everything is the installer's own."""
    fetch(site.admin, f"ALTER ROLE {site.name} CREATEROLE")
    fetch(site.installer, "CREATE EXTENSION pg_trgm; CREATE EXTENSION unaccent; CREATE SCHEMA recall")
    with migrate._locked(site.installer) as driver:
        driver.execute(state.text_search_file().read_bytes())
        driver.execute("SET LOCAL search_path = recall, public, pg_temp")
        driver.execute("SELECT NULL::vector, show_limit()")
        run_revisions(driver, 64, None, revision)
        driver.execute(
            "INSERT INTO recall.setting (tenant, name, value) VALUES ('*', 'embedding.dimensions', '64'), "
            "('*', 'schema.functions', '\"old\"'), ('acme', 'prune.grace_days', '3'); "
            "INSERT INTO recall.memory (tenant, key, layer, title, body) "
            "VALUES ('acme', 'a', 'knowledge', '', 'The harbour contract'); "
        )
        columns = "n, first_at, t1, decay, clock" + (", folded_until" if revision > "0001" else "")
        values = "1, 1700000000, 1700000000, 0.5, 1" + (", now()" if revision > "0001" else "")
        driver.execute(
            f"INSERT INTO recall.activation (tenant, memory_id, {columns}) "
            f"SELECT tenant, id, {values} FROM recall.memory".encode()
        )
    assert fetch(site.admin, OWNERS) == [(site.name,)]
    done = migrate.upgrade(site.installer)
    assert (done.before.revision, done.after.revision, done.left) == (revision, migrate.head_revision(), ())
    assert fetch(site.admin, OWNERS) == [("recall_owner",)]
    with site.as_role(site.name) as memory:
        assert [hit.key for hit in memory.search("contract").hits] == ["a"]
    assert not migrate.upgrade(site.installer).changed


def test_an_administrator_may_take_over_and_the_owner_until_then_goes_on(site: Site) -> None:
    migrate.upgrade(site.installer, dimensions=64)
    assert migrate.upgrade(site.admin).left == ()
    assert fetch(site.admin, OWNERS) == [("recall_owner",)]
    with site.as_role(site.name) as memory:
        memory.remember("The harbour contract")
    assert not migrate.upgrade(site.installer).changed


@embedded_only("uses the role of an embedded server")
def test_clients_of_an_embedded_server_are_not_its_superuser(
    own_server: EmbeddedServer, folder: Path
) -> None:
    settings = Settings(data_dir=folder / "data", embedder="hash", embedder_dimensions=64)
    for _ in range(2):
        with Memory(settings=settings) as memory:
            memory.remember("The harbour contract")
            caller = memory.service.caller()
            assert (caller.role, caller.superuser, caller.administers) == (SERVING_ROLE, False, False)
            assert (caller.tenant, caller.may) == ("*", "worker")
            assert [run.state for run in memory.jobs.run("statistics")] == ["done"]
