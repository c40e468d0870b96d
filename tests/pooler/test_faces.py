"""Every face through the pooler, each with more calls than those after which statements are prepared."""

from __future__ import annotations

import json
from pathlib import Path

from tests.acceptance.cli.command_tools import Command
from tests.acceptance.http.http_tools import serving
from tests.acceptance.mcp.mcp_tools import answer, connected, over_stdio, run, served_over_http
from tests.acceptance.page.page_tools import Page

TURNS = 8


def test_the_command_line(bare_pgrecall: Command, pooled_url: str, tmp_path: Path) -> None:
    drafts = [{"key": f"k{n}", "body": f"The harbour opens at {n}"} for n in range(30)]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(draft) + "\n" for draft in drafts))
    commands = (
        ("init", "--dimensions", "64"),
        ("import", str(tmp_path / "notes.jsonl")),
        ("search", "harbour", "--json"),
        ("status", "--json"),
        ("doctor", "--only", "schema"),
        ("export", str(tmp_path / "out.jsonl")),
        ("verify",),
        ("context", "when does the harbour open?"),
    )
    for command in commands:
        ended = bare_pgrecall(*command, database_url=pooled_url, tenant="acme")
        assert ended.code == 0, (command, ended)
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) > 30


def test_http_and_the_page(pooled_url: str) -> None:
    with serving(pooled_url, pool_size="3") as served:
        for turn in range(TURNS):
            stored = served.client.post("/v1/memories", json={"body": f"Note {turn}", "key": f"k{turn}"})
            assert stored.status_code in (200, 201), stored.text
            assert served.client.get(f"/v1/memories/k{turn}").json()["body"] == f"Note {turn}"
            found = served.client.post("/v1/search", json={"query": f"note {turn}", "k": 1})
            assert [hit["key"] for hit in found.json()["hits"]] == [f"k{turn}"]
            for path in (f"/?q=note+{turn}", "/overview", f"/memories/k{turn}", "/maintenance"):
                shown = served.client.get(path, follow_redirects=True)
                assert shown.status_code == 200, (path, shown.text[:300])
                Page(shown)
        assert served.client.get("/readyz").status_code == 200


def test_mcp(pooled_url: str) -> None:
    async def scenario(place: object) -> None:
        async with connected(place, "auto") as client:
            for turn in range(TURNS):
                made = await answer(client, "remember", body=f"The gate code is {turn}", key=f"k{turn}")
                assert made["outcome"] in ("created", "unchanged")
                found = await answer(client, "search", query=f"gate code {turn}")
                assert found["hits"]
            assert (await answer(client, "status"))["memories"] == TURNS

    run(scenario(over_stdio(pooled_url, tenant="acme")))
    with served_over_http(pooled_url, tenant="acme") as address:
        run(scenario(address))
