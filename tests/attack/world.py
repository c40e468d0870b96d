"""Two databases that differ in nothing but this: in the one tenant ``globex`` is there, in the other it was.

What the attacker is told in the two must be the same, to the letter: then nothing of ``globex`` is in it, not
even that it exists. Numbers go on in the second as though ``globex`` had stayed: ids are of the whole
database.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from pgrecall.schema import roles
from tests.conftest import DIMENSIONS
from tests.integration.versions.settled import settle

NOW = "2026-06-01 12:00:00+00"
OLD = "2024-01-01 12:00:00+00"

GUESSED = "zanzibarite"
"""A word of globex's that the attacker asks for."""

UNKNOWN = "quetzalcoatlus"
"""A word of globex's that the attacker never says: wherever it turns up, it has leaked."""

KEY = "globex-plan"
KEY_DIGEST = bytes(range(32))
VECTOR = "[" + ",".join(str((7 * place) % 11 - 5) for place in range(DIMENSIONS)) + "]"

RIGHTS: tuple[roles.Rights, ...] = ("reader", "app", "worker")

TABLES = (
    "SELECT c.relname, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant') "
    "FROM pg_class c WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p') "
    "AND NOT c.relispartition ORDER BY 1"
)


@dataclass
class World:
    """A database, an administrator's connection to it, and logins for the attacker."""

    url: str
    admin: psycopg.Connection[Any]
    own: dict[str, int] = field(default_factory=dict)
    """What acme's things are numbered, as those of globex in ``ids``."""
    ids: dict[str, int] = field(default_factory=dict)
    """What globex's things are numbered: memory, other, long, plan, dedupe, proposal, search, run, key."""

    def log_in(self, role: str, **options: str) -> psycopg.Connection[Any]:
        return psycopg.connect(make_conninfo(self.url, user=role, **options), autocommit=True)

    def settle(self) -> None:
        """Waits until `changes` shows all that was stored: transactions of other tests hold it back."""
        with self.admin.cursor(row_factory=dict_row) as cursor:
            settle(lambda sql, parameters=None: cursor.execute(sql, parameters).fetchall())

    def digest(self) -> str:
        """Of every row of globex and of every row that is of no tenant of the attacker's."""
        parts = []
        for table, tenants in self.admin.execute(TABLES).fetchall():
            if table == "tenant_role":
                continue
            where = " WHERE tenant <> 'acme'" if tenants else ""
            parts.append(f"SELECT '{table}' AS t, md5(string_agg(x, ',' ORDER BY x)) AS d FROM "
                         f"(SELECT r::text AS x FROM recall.{table} r{where}) s")  # fmt: skip
        found = self.admin.execute(" UNION ALL ".join(parts).encode()).fetchall()
        # A new table of acme's own holds nothing of theirs.
        return str([row for row in found if row[1] is not None])


@contextmanager
def attackers(*urls: str) -> Iterator[dict[str, str]]:
    """Login roles: bound to acme with each right, one bound to nothing, and a service for any tenant."""
    mark = uuid.uuid4().hex[:8]
    made = {name: f"{name}_{mark}" for name in ("reader", "app", "worker", "unbound", "service")}
    try:
        for url in urls:
            for right in RIGHTS:
                roles.create(url, made[right], may=right, tenant="acme", password=None)
            roles.create(url, made["service"], may="app", tenant="*", password=None)
            roles.create(url, made["unbound"], may="worker", tenant="acme", password=None)
            roles.unbind(url, made["unbound"])
        yield made
    finally:
        for url in urls:
            with psycopg.connect(url, autocommit=True) as admin:
                for role in made.values():
                    admin.execute(f"DROP OWNED BY {role}".encode())
        with psycopg.connect(urls[0], autocommit=True) as admin:
            for role in made.values():
                admin.execute(f"DROP ROLE {role}".encode())


def fill(world: World) -> None:
    """Both tenants, as every later statement finds them."""
    world.own = _tenant(
        world, "acme", "harbour", "the crane waits for the contract", bytes(reversed(range(32)))
    )
    world.ids = _tenant(world, "globex", GUESSED, f"{UNKNOWN} signs the contract {GUESSED}", KEY_DIGEST)
    world.admin.execute("ANALYZE")


def vanish(world: World) -> None:
    """Takes globex out, as if it had never been but for the numbers it used up."""
    for table, tenants in world.admin.execute(TABLES).fetchall():
        if tenants and table != "tenant_role":
            world.admin.execute(f"DELETE FROM recall.{table} WHERE tenant = 'globex'".encode())
    world.admin.execute("ANALYZE")


def _proposed(call: Callable[..., Any]) -> Any:
    """The id of a new dedupe plan."""
    call("SELECT recall.find_duplicates()")
    return call("SELECT recall.plan_dedupe(p_now => %s)", NOW)


def _merged(call: Callable[..., Any]) -> Any:
    """The id of a dedupe plan that is applied."""
    plan = _proposed(call)
    call("SELECT count(*) FROM recall.apply_plan(%s, p_now => %s)", plan, NOW)
    return plan


def read_on(call: Callable[..., Any], memory: int, vector: str = VECTOR) -> None:
    """Gives a memory what an embedder that reads on gives it: token signs, and passages with vectors."""
    call(
        "SELECT recall.store_embeddings(jsonb_build_array(jsonb_build_object('id', m.id, 'content_hash', "
        "m.content_hash, 'embedding', v, 'tokens', ARRAY[%s, 'x3c'], 'passages', jsonb_build_array("
        "jsonb_build_object('start', 0, 'end', length(m.body) / 2, 'embedding', v), "
        "jsonb_build_object('start', 3, 'end', length(m.body), 'embedding', v)))), 'hash') "
        "FROM recall.memory m, CAST(%s AS text) v WHERE m.id = %s",
        f"x{memory % 16:x}f", vector, memory,
    )  # fmt: skip


def _tenant(world: World, tenant: str, word: str, body: str, digest: bytes) -> dict[str, int]:
    def call(sql: str, *parameters: Any) -> Any:
        row = world.admin.execute(sql.encode(), parameters).fetchone()
        return None if row is None else row[0]

    call("SELECT set_config('recall.tenant', %s, false)", tenant)
    named = {"author": word, "tags": [word], "aliases": [f"{word} papers"], "metadata": {"word": word}}
    told = {"body": body, "context": body, "occurred_at": OLD}
    links = [{"target": f"{tenant}-mira"}, {"target": f"{word} missing"}]
    where = {"source": f"{word}-notes", "session_id": f"{word}-session", "embedding": VECTOR, "links": links}
    drafts: list[dict[str, Any]] = [
        {"key": f"{tenant}-plan", "title": f"{word} plan", **told, **named, **where},
        {"key": f"{tenant}-mira", "title": f"Mira {word}", "layer": "entity", **told},
        {"key": f"{tenant}-twin", "title": f"{word} plan", **told, **named, "embedding": VECTOR},
        {"key": f"{tenant}-old", **told, "body": f"{body} of old"},
        {"key": f"{tenant}-long", **told, "body": f"{body}. " * 40, "embedding": VECTOR},
        {"key": f"{tenant}-gone", **told, "body": f"{body} is gone", "tags": [f"{word} nothing"]},
        {"key": f"{tenant}-one", **told, "body": f"{body} of two", "embedding": VECTOR},
        {"key": f"{tenant}-two", **told, "body": f"{body}, of two", "embedding": VECTOR},
    ]
    call("SELECT count(*) FROM recall.remember_many(%s, 'hash', false, %s)", json.dumps(drafts), NOW)
    ids = [call("SELECT recall.id_of(%s)", draft["key"]) for draft in drafts]
    read_on(call, ids[4])
    for tags in ([word, "first"], [word]):
        call("SELECT recall.edit(%s, jsonb_build_object('tags', %s::text[]), p_now => %s)", ids[0], tags, NOW)
    call("SELECT recall.set_layer(%s, p_now => %s)", f"{word}-layer", NOW)
    call("SELECT recall.set_setting('prune.grace_days', 3)")
    call(
        "SELECT recall.record_access(%s, 'used', %s, %s, %s, %s)",
        ids[0],
        NOW,
        f"{word}-s",
        f"{word}-once",
        NOW,
    )
    call("SELECT recall.refresh_statistics(%s)", NOW)
    found = {
        "memory": ids[0],
        "other": ids[3],
        "long": ids[4],
        "search": call(
            "SELECT max(search_id) FROM recall.search_and_log("
            "jsonb_build_object('query', %s::text), p_now => %s)",
            word,
            NOW,
        ),
        "plan": call("SELECT recall.plan_prune(p_max_share => 1, p_now => '2036-06-01')"),
        "dedupe": _merged(call),
        "proposal": call(
            "SELECT recall.remember(%s, p_key => %s, p_now => %s)", f"{body}; of two", f"{tenant}-three", NOW
        )
        and _proposed(call),
        "erasure": call(
            "SELECT recall.plan_erasure(jsonb_build_object('tag', %s::text), %s, %s)",
            f"{word} nothing",
            f"{word} asked",
            NOW,
        ),
        "run": call("SELECT recall.begin_job('verify', p_now => %s)", NOW),
        "key": call("SELECT id FROM recall.create_key(%s, %s, %s)", f"{word}-key", digest, NOW),
    }
    call("SELECT recall.add_reader(%s, %s)", f"{word}-friend", NOW)
    call("SELECT recall.rejected(%s, ARRAY[%s::bigint], %s)", found["search"], ids[0], NOW)
    call("SELECT recall.end_job(%s, 'failed', 0, '{}', %s, p_now => %s)", found["run"], f"{body} broke", NOW)
    call("SELECT recall.supersede(%s, %s, %s)", ids[3], ids[0], NOW)
    call("SELECT set_config('recall.tenant', '', false)")
    return {name: int(value) for name, value in found.items()}
