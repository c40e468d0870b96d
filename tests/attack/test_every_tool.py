"""Every tool of MCP over HTTP with each kind of key, from the catalogue: a new tool is attacked by itself."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from psycopg.conninfo import make_conninfo

from pgrecall import Memory
from pgrecall.nouns.keys.operations import new_token
from pgrecall.settings import Settings
from pgrecall.tools.catalogue import TOOLS, mcp_tools
from tests.acceptance.http.http_tools import Served
from tests.acceptance.mcp.oauth_tools import access_token, serving_oauth
from tests.attack.test_faces import ABSENT
from tests.attack.test_fair_share import HELLO, MCP
from tests.attack.test_revoked_keys import called
from tests.attack.world import GUESSED, KEY, UNKNOWN, World

pytestmark = pytest.mark.attack

ARGUMENTS = {tool["name"]: tool["inputSchema"] for tool in mcp_tools()}
READ_ONLY = {tool.name: tool.read_only for tool in TOOLS}
KINDS = ("none", "empty", "garbage", "a megabyte", "revoked", "expired", "of another tenant")
REFUSED = (400, 401, 404, 431)


@dataclass
class Holders:
    """A service for both tenants, and what its callers hold."""

    served: Served
    keys: dict[str, str | None]
    """By kind of those that open nothing of acme; beside them acme's own: ``own`` and ``reading``."""

    def call(self, kind: str, session: str, tool: str, arguments: dict[str, Any]) -> httpx.Response:
        key = self.keys[kind]
        headers = MCP | ({"mcp-session-id": session} if session else {})
        headers |= {} if key is None else {"Authorization": f"Bearer {key}".strip()}
        call = called("tools/call", 2, name=tool, arguments=arguments)
        return self.served.client.post("/mcp", json=call, headers=headers)

    def session(self, kind: str) -> str:
        headers = MCP | {"Authorization": f"Bearer {self.keys[kind]}"}
        answer = self.served.client.post("/mcp", json=called("initialize", 1, **HELLO), headers=headers)
        return str(answer.headers["mcp-session-id"])


@pytest.fixture(scope="module")
def holders(with_globex: World, logins: dict[str, str]) -> Iterator[Holders]:
    url = make_conninfo(with_globex.url, user=logins["service"])
    with Memory(url, settings=Settings(embedder="none")) as memory:
        acme, globex = memory.for_tenant("acme"), memory.for_tenant("globex")
        own, revoked = acme.keys.create("own").secret, acme.keys.create("revoked")
        reading = acme.keys.create("reading", read_only=True).secret
        other = globex.keys.create("other").secret
        acme.keys.revoke(revoked.key.id)
    keys = {
        "none": None, "empty": "", "garbage": new_token("a"), "a megabyte": "x" * 2**20,
        "revoked": revoked.secret, "of another tenant": other, "own": own, "reading": reading,
    }  # fmt: skip
    with serving_oauth(url, allow_superuser="0") as served:
        token = access_token(served, own)
        with_globex.admin.execute("UPDATE recall.oauth_grant SET access_ends_at = now() - interval '1 s'")
        yield Holders(served, {**keys, "expired": token})


def everything(world: World) -> str:
    """Of what both tenants keep, but for what each request writes: uses of keys, and the searches."""
    tables = world.admin.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' "
        "WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition "
        "AND c.relname NOT IN ('api_key', 'oauth_grant', 'search_log', 'tenant_lock') ORDER BY 1"
    ).fetchall()
    parts = [f"SELECT '{table}' || md5(string_agg(r::text, ',' ORDER BY r::text)) AS d FROM recall.{table} r"
             for (table,) in tables]  # fmt: skip
    return str(world.admin.execute(" UNION ALL ".join(parts).encode()).fetchall())


def names_memories(schema: dict[str, Any]) -> bool:
    return "anyOf" in schema.get("items", schema)


def sample(schema: dict[str, Any], memory: int | str) -> Any:
    """A value that this schema allows, and that names this memory where it can."""
    if "anyOf" in schema:
        return memory
    kinds: dict[str, Any] = {"string": GUESSED, "object": {}, "boolean": False, "integer": 1, "number": 1}
    if schema["type"] == "array":
        return [sample(schema["items"], memory)]
    return schema.get("enum", [kinds[schema["type"]]])[0]


def arguments_of(tool: str, memory: int | str) -> dict[str, Any]:
    """What the tool needs, and all arguments that name memories."""
    schema = ARGUMENTS[tool]
    return {
        name: sample(each, memory)
        for name, each in schema["properties"].items()
        if name in ("query", *schema.get("required", ())) or names_memories(each)
    }


def result_of(answer: httpx.Response) -> dict[str, Any]:
    """The result of a call, or the error of the protocol in its place."""
    assert answer.status_code == 200, answer.text
    line = answer.text.partition("data: ")[2] or answer.text
    document = json.loads(line.splitlines()[0])
    result: dict[str, Any] = document.get("result") or {"isError": True, "content": [document["error"]]}
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_that_is_none_calls_no_tool(
    holders: Holders, with_globex: World, tried: Counter[str], kind: str
) -> None:
    """Alone, and in a session that somebody of acme has opened."""
    before, opened = everything(with_globex), holders.session("own")
    for tool in ARGUMENTS:
        for session in ("", opened) if kind != "of another tenant" else (opened,):
            try:
                answer = holders.call(kind, session, tool, arguments_of(tool, "acme-plan"))
            except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
                assert kind == "a megabyte"  # the service closes while it is sent
            else:
                assert answer.status_code in REFUSED, (tool, answer.text)
                assert "harbour" not in answer.text
            tried["MCP"] += 1
    assert everything(with_globex) == before


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_a_key_that_may_read_calls_the_tools_that_read(
    holders: Holders, with_globex: World, tried: Counter[str], tool: str
) -> None:
    before = everything(with_globex)
    result = result_of(
        holders.call("reading", holders.session("reading"), tool, arguments_of(tool, "acme-plan"))
    )
    assert bool(result.get("isError")) != READ_ONLY[tool], result
    assert READ_ONLY[tool] or tool in str(result), result
    assert everything(with_globex) == before
    tried["MCP"] += 1


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_a_key_tells_a_foreign_memory_from_none_by_no_tool(
    holders: Holders, with_globex: World, tried: Counter[str], tool: str
) -> None:
    before, session = with_globex.digest(), holders.session("own")

    def told(memory: int | str) -> str:
        text = holders.call("own", session, tool, arguments_of(tool, memory)).text
        return re.sub(rf"(?<![\w.-]){re.escape(str(memory))}(?![\w.-])", "X", text)

    for own, absent in ((with_globex.ids["memory"], ABSENT), (KEY, "nobody-plan")):
        found = told(own)
        assert UNKNOWN not in found
        if any(map(names_memories, ARGUMENTS[tool]["properties"].values())):
            assert found == told(absent)
        tried["MCP"] += 1
    assert with_globex.digest() == before
