"""Keys over the wire: who is let in, and what each key opens."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

import httpx
import pytest
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.acceptance.cli.command_tools import Command
from tests.acceptance.http.http_tools import PLAIN, Served, is_problem, member, serving
from tests.waiting import until


@pytest.fixture(scope="module")
def ours(url: str) -> str:
    with member(url) as memory:
        memory.remember("Mira signs the harbour contract on Friday.", key="contract")
        return memory.keys.create("ours").secret


@pytest.fixture(scope="module")
def theirs(url: str) -> str:
    with member(url, tenant="other") as memory:
        memory.remember("The other harbour has no contract.", key="theirs")
        return memory.keys.create("theirs").secret


@pytest.fixture(scope="module")
def served(ours: str, theirs: str, url: str) -> Iterator[Served]:
    with serving(url) as running:
        yield running


def test_a_key_opens_its_own_tenant_and_no_other(served: Served, ours: str, theirs: str) -> None:
    with served.as_holder(ours) as mine, served.as_holder(theirs) as other:
        number = mine.get("/v1/memories/contract").json()["id"]
        assert mine.get("/v1/status").json()["tenant"] == "acme"
        assert other.get("/v1/status").json()["tenant"] == "other"
        for reference in (number, "contract"):
            assert is_problem(other.get(f"/v1/memories/{reference}"), 404, "memory-not-found")
            assert other.delete(f"/v1/memories/{reference}").status_code == 404
            use = {"accesses": [{"memory": reference}]}
            assert other.post("/v1/accesses", json=use).status_code == 404
        found = other.post("/v1/search", json={"query": "harbour contract", "k": 50}).json()
        assert [hit["key"] for hit in found["hits"]] == ["theirs"]
        block = other.post("/v1/context", json={"query": "harbour contract"}).json()
        assert "Mira" not in block["text"]
        assert [hit["key"] for hit in mine.post("/v1/search", json={"query": "contract"}).json()["hits"]] == [
            "contract"
        ]


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer pgr_unknown_but_long_enough_to_be_one", "Basic cGdyOnBncg==", "pgr_schemeless"],
)
def test_without_a_valid_key_nothing_is_open(served: Served, header: str) -> None:
    headers = {"Authorization": header} if header else {}
    for method, path in (("GET", "/v1/status"), ("POST", "/v1/search"), ("POST", "/mcp"), ("GET", "/mcp")):
        answer = served.client.request(method, path, headers=headers)
        assert is_problem(answer, 401, "unauthorized")
        assert answer.headers["www-authenticate"].startswith('Bearer realm="pgrecall"')


def test_two_keys_in_one_request_are_refused(served: Served, ours: str, theirs: str) -> None:
    """A proxy in front may look at the other one."""
    headers = [("Authorization", f"Bearer {key}") for key in (ours, theirs)]
    for path in ("/v1/search", "/mcp"):
        answer = served.client.post(path, headers=headers, json={"query": "contract"})
        assert is_problem(answer, 401, "unauthorized")
        assert "more than one" in answer.json()["detail"]


def test_the_probes_need_no_key_and_name_no_tenant(served: Served) -> None:
    assert served.client.get("/healthz").json() == {"alive": True}
    ready = {"ready": True, "problems": []}
    until(lambda: served.client.get("/readyz").json() == ready, "readiness")  # models are loaded first
    counted = 'pgrecall_memories{layer="knowledge",zone="unknown"} 2.0'
    until(lambda: counted in served.client.get("/metrics").text, "figures")  # they are not waited for long
    figures = served.client.get("/metrics").text
    assert not any(word in figures for word in ("acme", "other", "contract"))


def test_a_key_is_made_listed_and_revoked_by_command(
    served: Served, bare_pgrecall: Command, url: str
) -> None:
    pgrecall = partial(bare_pgrecall, database_url=url)
    made = pgrecall("--tenant", "third", "keys", "create", "the crane's agent", "--json").json
    with served.as_holder(made["secret"]) as third:
        assert third.get("/v1/status").json()["tenant"] == "third"
        [listed] = pgrecall("--tenant", "third", "keys", "list", "--json").json
        assert (listed["id"], listed["name"]) == (made["id"], "the crane's agent")
        assert listed["last_used_at"] is not None
        assert made["secret"] not in json.dumps(listed)
        assert pgrecall("--tenant", "acme", "keys", "revoke", str(made["id"])).code == 2
        assert pgrecall("--tenant", "third", "keys", "revoke", str(made["id"])).out == "Revoked.\n"
        assert is_problem(third.get("/v1/status"), 401, "unauthorized")
    again = pgrecall("--tenant", "third", "keys", "revoke", str(made["id"]))
    assert again.out == "It was already revoked.\n"
    assert "revoked" in pgrecall("--tenant", "third", "keys", "list").out


def test_a_new_key_is_all_that_standard_output_has(pgrecall: Command) -> None:
    done = pgrecall("keys", "create", "agent")
    assert done.out.startswith("pgr_")
    assert len(done.out.split()) == 1
    assert "not shown again" in done.err


def status(served: Served, key: str | None = None) -> httpx.Response:
    """What it answers on the address of this machine."""
    port = served.url.rpartition(":")[2]
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.get(f"http://127.0.0.1:{port}/v1/status", headers=headers, **PLAIN)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_are_let_in_only_with_a_key_or_on_request(database_url: str, host: str) -> None:
    with serving(database_url, "--host", host, "--without-keys") as served:
        assert status(served).json()["tenant"] == "acme"
    with serving(database_url, "--host", host) as served:
        refused = status(served)  # no key exists: nobody is let in, and the answer says how to change that
        assert is_problem(refused, 401, "unauthorized")
        assert "pgrecall keys create NAME" in refused.json()["detail"]
        for path in ("/v1/search", "/v1/memories", "/mcp"):
            port = served.url.rpartition(":")[2]
            url = f"http://127.0.0.1:{port}{path}"
            assert httpx.post(url, json={}, **PLAIN).status_code == 401
        assert b"Every request is refused until a key exists" in os.pread(served.log.fileno(), 10_000, 0)
        with member(database_url) as memory:
            key = memory.keys.create("agent").secret
        assert status(served).status_code == 401
        assert status(served, key).json()["tenant"] == "acme"  # the first key counts at once


def test_a_port_that_is_taken_is_one_sentence(pgrecall_process: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = pgrecall_process("serve", "--port", str(taken.getsockname()[1]))
    assert done.code == 2
    assert "Address already in use" in done.err


def test_agents_reach_their_own_memory_over_mcp(served: Served, ours: str, theirs: str) -> None:
    async def ask(key: str) -> str:
        headers = {"Authorization": f"Bearer {key}"}
        async with (
            httpx.AsyncClient(headers=headers, **PLAIN) as client,
            streamable_http_client(f"{served.url}/mcp", http_client=client) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            found = await session.call_tool("search", {"query": "harbour contract"})
            return found.model_dump_json()

    mine, other = asyncio.run(ask(ours)), asyncio.run(ask(theirs))
    assert "Mira signs" in mine
    assert "Mira signs" not in other
    assert "The other harbour" in other


READS = {"/v1/search", "/v1/context"}
"""Requests that are not GET and yet change no memory."""


def test_a_key_that_may_only_read_is_refused_by_every_route_that_writes(served: Served, url: str) -> None:
    """Whatever is sent, and before anything in it is looked at."""
    with member(url) as memory:
        secret = memory.keys.create("reader", read_only=True).secret
    with served.as_holder(secret) as reader:
        paths = reader.get("/openapi.json").json()["paths"]
        writing = [
            (method.upper(), re.sub(r"\{\w+\}", "1", path))
            for path, methods in paths.items()
            for method in methods
            if method in ("post", "put", "patch", "delete") and path not in READS
        ]
        assert len(writing) > 25
        for method, path in writing:
            for body in (b"{}", b"not json", b"\xff" * 100):
                answer = reader.request(method, path, content=body)
                assert is_problem(answer, 403, "forbidden"), (method, path, answer.text)


def test_an_import_is_known_to_its_tenant_alone_and_forgotten_for_no_other(
    served: Served, ours: str, theirs: str
) -> None:
    def imported(client: httpx.Client) -> int:
        answer = client.post("/v1/imports", params={"name": "note.md"}, content=b"A note.")
        assert answer.status_code == 200, answer.text
        return int(answer.json()["id"])

    with served.as_holder(ours) as mine, served.as_holder(theirs) as other:
        number = imported(mine)
        assert other.get(f"/v1/imports/{number}").status_code == 404
        numbers = [imported(other) for _ in range(130)]
        # Numbers tell nothing of others, and as many imports as one likes push out only one's own.
        assert numbers == list(range(1, 131))
        assert mine.get(f"/v1/imports/{number}").json()["state"] == "done"
        assert [n for n in numbers if other.get(f"/v1/imports/{n}").status_code == 200] == numbers[-20:]


def test_a_key_that_may_only_read_changes_nothing(served: Served, url: str) -> None:
    with member(url) as memory:
        made = memory.keys.create("reader", read_only=True)
        number = memory.get("contract").id
        moment = datetime.now(UTC)  # of both looks, because vitality falls with time
        before = memory.get("contract", now=moment)
        assert memory.keys.list()[0] == made.key
    assert (made.key.name, made.key.read_only) == ("reader", True)
    with served.as_holder(made.secret) as reader:
        assert reader.get("/v1/memories/contract").json()["id"] == number
        found = reader.post("/v1/search", json={"query": "harbour contract"}).json()
        assert found["hits"][0]["key"] == "contract"
        assert found["search_id"] is None, "a search of a reader is not logged"
        assert reader.post("/v1/context", json={"query": "contract", "log": True}).json()["search_id"] is None
        for method, path, body in (
            ("POST", "/v1/memories", {"body": "new"}),
            ("PATCH", "/v1/memories/contract", {"title": "new"}),
            ("DELETE", "/v1/memories/contract", None),
            ("PUT", "/v1/pins/contract", None),
            ("POST", "/v1/unarchive/contract", None),
            ("DELETE", f"/v1/links?source={number}&target={number}", None),
            ("POST", "/v1/plans/prune", {}),
        ):
            answer = reader.request(method, path, json=body)
            assert is_problem(answer, 403, "forbidden"), (method, path)
        # Another beginning makes it another key, which nobody has.
        forged = made.secret.replace("pgr_read_", "pgr_")
    with served.as_holder(forged) as thief:
        assert is_problem(thief.get("/v1/status"), 401, "unauthorized")
    with member(url) as memory:
        assert memory.get("contract", now=moment) == before
