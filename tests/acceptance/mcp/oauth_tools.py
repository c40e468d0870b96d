"""`pgrecall serve --oauth` as a process, and what a person and a client of it do."""

from __future__ import annotations

import base64
import hashlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from httpx2 import AsyncClient
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from tests.acceptance.cli.command_tools import CommandLine, command_line
from tests.acceptance.http.http_tools import PLAIN, Served, serving
from tests.acceptance.page.page_tools import Page, complaints, sent
from tests.waiting import PATIENCE

BACK = "http://127.0.0.1:43210/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


@contextmanager
def serving_oauth(
    database_url: str, command: CommandLine = command_line, **settings: str
) -> Iterator[Served]:
    """A service whose public address is its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    oauth = f"http://127.0.0.1:{port}"
    with serving(database_url, "--port", port, "--oauth", oauth, command=command, **settings) as served:
        yield served


class Person:
    """Somebody with a browser and a key."""

    def __init__(self, served: Served, key: str) -> None:
        self.browser = httpx.Client(base_url=served.url, **PLAIN)
        self._key = key

    def asked(self, address: str) -> Page:
        """The view to which the address of a client leads, once signed in."""
        answer = self.browser.get(address)
        assert answer.status_code == 302, answer.text
        address = answer.headers["location"]
        answer = self.browser.get(address)
        if answer.status_code == 401:
            answer = sent(self.browser, Page(answer).form("/sign-in"), key=self._key)
            assert answer.headers["location"] == address
            answer = self.browser.get(address)
        page = Page(answer)
        assert complaints(page) == []
        return page

    def decides(self, page: Page, decision: str = "allow") -> str:
        """Sends the form, and returns the address to which the browser then goes."""
        [form] = [form for form in page.forms if form.action.startswith("/connect?")]
        done = Page(sent(self.browser, form, decision=decision))
        assert done.status == 200, done.said
        [address] = [link.attributes["href"] for link in done.all("a", rel="noreferrer")]
        assert done.all("meta", content=f"0; url={address}")
        assert address is not None
        return address


@dataclass
class Storage:
    """What a client keeps."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None
    asked: list[str] = field(default_factory=list)

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@asynccontextmanager
async def connecting(served: Served, storage: Storage, person: Person | None) -> AsyncIterator[Client]:
    """The SDK's client, by OAuth; without a person, nobody can be asked."""

    async def ask(address: str) -> None:
        assert person is not None, "a person was asked"
        storage.asked.append(person.decides(person.asked(address)))

    async def answered() -> AuthorizationCodeResult:
        said = values_of(storage.asked[-1])
        return AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said["iss"])

    metadata = OAuthClientMetadata.model_validate({"redirect_uris": [BACK], "client_name": "Agent"})
    provider = OAuthClientProvider(f"{served.url}/mcp", metadata, storage, ask, answered)
    async with (
        AsyncClient(auth=provider, timeout=PATIENCE) as http,
        Client(streamable_http_client(f"{served.url}/mcp", http_client=http)) as client,
    ):
        yield client


def values_of(address: str) -> dict[str, str]:
    return {name: value for name, [value] in parse_qs(urlsplit(address).query).items()}


def access_token(served: Served, key: str) -> str:
    """A token that somebody with this key has let a client have."""
    person, client = Person(served, key), registered(served)["client_id"]
    with person.browser:
        code = values_of(person.decides(person.asked(authorization(client))))["code"]
    token: str = exchanged(served, client, code).json()["access_token"]
    return token


def registered(served: Served, **metadata: Any) -> dict[str, Any]:
    answer = served.client.post("/register", json={"redirect_uris": [BACK], **metadata})
    assert answer.status_code == 201, answer.text
    document: dict[str, Any] = answer.json()
    return document


def authorization(client_id: str, /, **changed: str | None) -> str:
    """The address that a client opens; ``None`` leaves a parameter out."""
    asked = {
        "client_id": client_id,
        "response_type": "code",
        "redirect_uri": BACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": "xyz",
        **changed,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    return str(httpx.URL("/authorize", params=given))


def exchanged(served: Served, client_id: str, code: str, **changed: str) -> httpx.Response:
    """The answer to a code."""
    form = {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": code,
        "redirect_uri": BACK,
        "code_verifier": VERIFIER,
        **changed,
    }
    return served.client.post("/token", data=form)


def refreshed(served: Served, client_id: str, token: str) -> httpx.Response:
    form = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": token}
    return served.client.post("/token", data=form)


def admitted(served: Served, token: str) -> bool:
    """Whether ``/mcp`` lets in whoever brings this token."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {token}"}
    answer = served.client.post("/mcp", json=asked, headers=headers)
    assert answer.status_code != 401 or "resource_metadata=" in answer.headers["www-authenticate"]
    return answer.status_code != 401
