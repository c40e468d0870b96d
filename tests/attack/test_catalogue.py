"""The catalogue of Postgres, which every role may read: it has no name and no word of another tenant."""

from __future__ import annotations

from collections import Counter

import psycopg

from tests.attack.world import GUESSED, RIGHTS, UNKNOWN, World

RELATIONS = (
    "SELECT format('%I.%I', n.nspname, c.relname) "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname IN ('pg_catalog', 'information_schema', 'recall') AND c.relkind IN ('r', 'v', 'm', 'p') "
    "AND c.relname <> 'pg_stat_activity' ORDER BY 1"
)
"""All but the one in which a role sees its own question."""


def test_no_catalogue_names_another_tenant(
    with_globex: World, logins: dict[str, str], tried: Counter[str]
) -> None:
    told = []
    with psycopg.connect(with_globex.url) as victim:
        victim.execute("SELECT set_config('recall.tenant', 'globex', false)")
        victim.execute("SELECT recall.move_vectors_to_own_table(0), recall.refresh_lexemes()")
        victim.execute("SELECT recall.remember(%s)", (f"{UNKNOWN} {GUESSED}",))
        relations = [relation for (relation,) in with_globex.admin.execute(RELATIONS.encode()).fetchall()]
        for right in RIGHTS:
            with with_globex.log_in(logins[right]) as role:
                for relation in relations:
                    tried["catalogue"] += 1
                    query = f"SELECT r::text FROM {relation} r WHERE r::text ~* 'globex|{GUESSED}|{UNKNOWN}'"
                    try:
                        told += [(relation, row) for row in role.execute(query.encode()).fetchall()]
                    except psycopg.errors.InsufficientPrivilege:
                        continue
        victim.rollback()
    assert len(relations) > 200
    assert told == []
