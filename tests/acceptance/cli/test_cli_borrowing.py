"""The command line borrows the models of a running service, and says so when it is asked."""

from __future__ import annotations

import json
import signal
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from pgrecall.embedded.shared_server import EmbeddedServer
from pgrecall.faces.cli import models
from pgrecall.search.lending import service_models
from tests.acceptance.cli.command_tools import Command
from tests.acceptance.http.http_tools import Served, is_problem, member, serving
from tests.conftest import _database
from tests.waiting import PATIENCE, until

NOW = "2026-06-01T12:00:00Z"
ASKED = ("-v", "search", "the harbour master", "--no-log", "--json", "--now", NOW)


@dataclass(frozen=True)
class Town:
    """A service, with what it left in its data directory."""

    served: Served
    url: str
    key: str
    folder: Path

    @property
    def announcement(self) -> Path:
        [path] = self.folder.glob("service-*.json")
        return path


@pytest.fixture(scope="module")
def town(server: EmbeddedServer, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """One service for the file; callers need keys."""
    folder = tmp_path_factory.mktemp("town") / "data"
    for url in _database(server, template):
        with member(url) as memory:
            memory.remember("The harbour master signs on Friday.", key="harbour")
            memory.remember("Bread needs a warm night.", key="bread")
            key = memory.keys.create("a caller").secret
        with serving(url, data_dir=str(folder), server="") as served:
            until(lambda: served.client.get("/readyz").json()["ready"], "readiness")
            yield Town(served, url, key, folder)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, a service is waited for: half a second is too little to rely on."""
    for module, name in (
        (models, "FOUND_TIMEOUT"),
        (models, "NAMED_TIMEOUT"),
        (service_models, "ANSWER_SECONDS"),
    ):
        monkeypatch.setattr(module, name, PATIENCE)


def ask(bare_pgrecall: Command, town: Town, **settings: str) -> tuple[list[str], str]:
    """The keys found, and what standard error says."""
    given = {
        "database_url": town.url,
        "tenant": "acme",
        "data_dir": str(town.folder),
        "server": "",
        **settings,
    }
    ended = bare_pgrecall(*ASKED, **given)
    assert ended.code == 0
    return [(hit["key"], hit["score"]) for hit in ended.json["hits"]], ended.err


def test_the_answers_are_the_same_and_the_service_embedded(bare_pgrecall: Command, town: Town) -> None:
    own, said = ask(bare_pgrecall, town, server="off")
    assert "this command's own" in said
    lent, said = ask(bare_pgrecall, town)
    assert lent == own
    assert f"is that of the service at {town.served.url}" in said
    assert len(town.served.logged_once("route", "/v1/models/embed-tokens")) == 1


def test_what_it_announces_is_private_and_opens_models_alone(town: Town) -> None:
    assert stat.S_IMODE(town.announcement.stat().st_mode) == 0o600
    told = json.loads(town.announcement.read_text())
    assert (told["url"], told["pid"]) == (town.served.url, town.served.process.pid)
    assert "postgres" not in town.announcement.read_text()
    with town.served.as_holder(told["token"]) as bearer:
        assert bearer.get("/v1/models").json()["embedder"]["dimensions"] == 64
        assert is_problem(bearer.get("/v1/status"), 401, "unauthorized")
    assert is_problem(town.served.client.get("/v1/models"), 401, "unauthorized")


def test_a_service_is_named_with_a_key(bare_pgrecall: Command, town: Town, tmp_path: Path) -> None:
    elsewhere = {"data_dir": str(tmp_path), "server": town.served.url}
    found, said = ask(bare_pgrecall, town, **elsewhere, server_key=town.key)
    assert "is that of the service" in said
    again, said = ask(bare_pgrecall, town, **elsewhere, server_key="pgr_wrong")
    assert again == found
    assert said.count("refused the key (401); models are loaded here instead.") == 1
    ended = bare_pgrecall(*ASKED[1:], database_url=town.url, tenant="acme", server="http://127.0.0.1:1")
    assert ended.code == 0
    assert ended.err.count("\n") == 1
    ended = bare_pgrecall(*ASKED, database_url=town.url, server="nowhere")
    assert (ended.code, "PGRECALL_SERVER" in ended.err) == (2, True)


def test_what_is_stale_or_not_our_own_is_passed_over(
    bare_pgrecall: Command, town: Town, tmp_path: Path
) -> None:
    told = json.loads(town.announcement.read_text())

    def announce(name: str, mode: int = 0o600, **change: object) -> None:
        path = tmp_path / f"service-{name}.json"
        path.write_text(json.dumps({**told, **change}))
        path.chmod(mode)

    announce("readable", 0o644)
    announce("dead", pid=2**22 + 1)
    announce("older", version="0.0.1")
    announce("other", embedder="other")
    (tmp_path / "service-torn.json").write_text('{"url": ')
    (tmp_path / "service-torn.json").chmod(0o600)
    (tmp_path / "service-link.json").symlink_to(town.announcement)
    _, said = ask(bare_pgrecall, town, data_dir=str(tmp_path))
    assert "this command's own" in said
    announce("silent", url="http://127.0.0.1:1")
    _, said = ask(bare_pgrecall, town, data_dir=str(tmp_path))
    assert "did not answer" in said


def test_the_doctor_names_the_process_that_lends_models(bare_pgrecall: Command, town: Town) -> None:
    given = {"database_url": town.url, "data_dir": str(town.folder), "server": ""}
    assert "that of the service" in bare_pgrecall("doctor", "--only", "embedder", **given).out


def test_requests_have_the_limits_of_others(town: Town) -> None:
    def post(path: str, **body: object) -> httpx.Response:
        with town.served.as_holder(town.key) as holder:
            return holder.post(f"/v1/models/{path}", json=body)

    assert len(post("embed", inputs="one").json()) == 1
    assert post("embed", inputs=[]).json() == []
    assert is_problem(post("embed", inputs=["x"] * 1001), 422, "invalid-input")
    assert is_problem(post("embed", inputs=["x"], normalize=False), 422, "invalid-input")
    assert is_problem(post("embed", inputs=["x"], prompt="y"), 422, "invalid-request")
    assert is_problem(post("rerank", query="q", texts=["x"]), 422, "invalid-input")


def test_it_takes_its_announcement_away_when_it_ends(bare_pgrecall: Command, town: Town) -> None:
    town.served.process.send_signal(signal.SIGTERM)
    town.served.process.wait(PATIENCE)
    assert list(town.folder.iterdir()) == []
    _, said = ask(bare_pgrecall, town)
    assert "this command's own" in said
