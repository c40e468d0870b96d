"""The authorization server of a service: its routes, its view's requests, and access tokens of ``/mcp``."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qs, urlsplit

from mcp.server.auth.handlers.metadata import MetadataHandler
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from mcp.server.auth.provider import AuthorizationParams, AuthorizeError, construct_redirect_uri
from mcp.server.auth.routes import (
    REVOCATION_PATH,
    build_metadata,
    build_resource_metadata_url,
    cors_middleware,
    create_auth_routes,
    create_protected_resource_routes,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import InvalidRedirectUriError, InvalidScopeError, OAuthClientInformationFull
from pydantic import AnyUrl
from starlette.datastructures import Headers, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgrecall.faces.http.oauth.clients import SCOPES, WRITE, client_of
from pgrecall.faces.http.oauth.provider import CONNECT_PATH, Access, Provider
from pgrecall.faces.http.request_handling import received_body
from pgrecall.faces.http.request_limits import ClientConnection, replay
from pgrecall.nouns.keys.operations import TOKEN, new_token

if TYPE_CHECKING:
    from pgrecall import AsyncMemory
    from pgrecall.faces.http.service import Service

CODE_SECONDS = 60
MAX_BODY_BYTES = 8 * 1024

_BAD_TOKEN = "This token is unknown or revoked, or has expired."
_BAD_TOKEN_CHALLENGE = 'Bearer realm="pgrecall", error="invalid_token"'
_REGISTRATION, _REVOCATION = ClientRegistrationOptions(enabled=True), RevocationOptions(enabled=True)


class OAuth:
    """The authorization server of a service, at its public address.

    Args:
        url: scheme, host and port at which clients and browsers reach it.
    """

    def __init__(self, service: Service, url: str) -> None:
        self._service = service
        self._issuer = url
        self._provider = Provider(service, f"{url}/mcp")
        settings = AuthSettings.model_validate(  # which keeps addresses as they are written
            {"issuer_url": url, "resource_server_url": f"{url}/mcp", "validate_token_resource": True}
        )
        assert settings.resource_server_url is not None
        self._issuer_url, self._resource_url = settings.issuer_url, settings.resource_server_url
        self._metadata_url = build_resource_metadata_url(self._resource_url)
        self._bearer = BearerAuthBackend(self._provider, resource_server_url=self._resource_url)

    def routes(self) -> Sequence[Route]:
        """The routes of the SDK; their bodies are small and arrive in time."""
        metadata = build_metadata(self._issuer_url, None, _REGISTRATION, _REVOCATION)
        metadata.scopes_supported = [*SCOPES]
        metadata.token_endpoint_auth_methods_supported = ["none"]
        metadata.revocation_endpoint_auth_methods_supported = ["none"]
        metadata.authorization_response_iss_parameter_supported = True
        described = cors_middleware(MetadataHandler(metadata).handle, ["GET", "OPTIONS"])
        _, *others = create_auth_routes(
            self._provider,
            self._issuer_url,
            client_registration_options=_REGISTRATION,
            revocation_options=_REVOCATION,
        )
        made = (
            Route("/.well-known/oauth-authorization-server", described, methods=["GET", "OPTIONS"]),
            *create_protected_resource_routes(self._resource_url, [self._issuer_url], [*SCOPES], "pgrecall"),
            *others,
        )
        return [
            Route(each.path, _SmallBody(self._service, each), methods=[*(each.methods or ())])
            for each in made
        ]

    def brings_token(self, request: Request) -> bool:
        """Whether a request brings a token of OAuth; it may be one that is not valid."""
        return TOKEN.fullmatch(_bearer_of(request)) is not None

    async def authenticate(self, request: Request) -> AsyncMemory:
        """The client for the tenant of the access token that a request brings, and notes if it may only read.

        Raises:
            HTTPException: 401, the token is unknown, has expired or was revoked, or its key was.
        """
        found = await self._bearer.authenticate(request)
        if found is None:
            raise HTTPException(401, _BAD_TOKEN, {"WWW-Authenticate": _BAD_TOKEN_CHALLENGE})
        user = found[1]
        assert isinstance(user, AuthenticatedUser)
        assert isinstance(user.access_token, Access)
        token = user.access_token
        request.state.reads_only = WRITE not in token.scopes
        return self._service.memory.for_tenant(token.tenant, also_reads=token.also_reads)

    async def require_valid_token(self, request: Request) -> None:
        """Looks the token up again, for a request that holds a slot and has waited for it.

        Raises:
            HTTPException: 401, it has ended meanwhile.
        """
        grant = await self._service.memory.keys.grant(_bearer_of(request))
        if grant is None or not grant.usable:
            raise HTTPException(401, _BAD_TOKEN, {"WWW-Authenticate": _BAD_TOKEN_CHALLENGE})

    def challenged(self, refusal: HTTPException) -> HTTPException:
        """A refusal; if a key or token is missing, it names where clients learn how to get one."""
        if refusal.status_code == HTTPStatus.UNAUTHORIZED:
            headers = dict(refusal.headers or {})
            headers["WWW-Authenticate"] += f', resource_metadata="{self._metadata_url}"'
            refusal.headers = headers
        return refusal

    def asked(self, query: QueryParams) -> tuple[OAuthClientInformationFull, AuthorizationParams]:
        """The client and what it asks for, from the address of the view, which anybody can write.

        Raises:
            HTTPException: 400, no client may ask for this.
        """
        try:
            client = client_of(query.get("client_id", ""))
            if client is None:
                raise ValueError
            params = AuthorizationParams(
                state=query.get("state"),
                scopes=client.validate_scope(query.get("scope")) or [*SCOPES],
                code_challenge=query.get("code_challenge", ""),
                redirect_uri=client.validate_redirect_uri(AnyUrl(query.get("redirect_uri", ""))),
                redirect_uri_provided_explicitly=True,
            )
            self._provider.require_valid(params)
        except (ValueError, InvalidRedirectUriError, InvalidScopeError, AuthorizeError):
            detail = "No program may ask for this; begin again in the program that sent you here."
            raise HTTPException(400, detail) from None
        return client, params

    async def allow(
        self,
        cookie: str,
        memory: AsyncMemory,
        client: OAuthClientInformationFull,
        params: AuthorizationParams,
    ) -> str | None:
        """Opens a grant for the key of a session, and returns where to send the browser with its code; None
        when the session has ended or its key may not do what the scopes say."""
        code = new_token("c")
        terms = {
            "client_id": client.client_id,
            "client_name": client.client_name,
            "scopes": params.scopes,
            "code_challenge": params.code_challenge,
            "redirect_uri": str(params.redirect_uri),
            "redirect_uri_provided_explicitly": True,
            "resource": self._provider.resource,
        }
        opened = await memory.keys.open_grant(cookie, code, terms, CODE_SECONDS)
        return self.answer(params, code=code) if opened else None

    def answer(self, params: AuthorizationParams, **said: str) -> str:
        """The redirect URI of the client with an answer; ``iss`` tells it from those of other servers."""
        return construct_redirect_uri(str(params.redirect_uri), **said, state=params.state, iss=self._issuer)


class _SmallBody:
    """An endpoint of the SDK that gets each request with its small body; it would wait without end."""

    def __init__(self, service: Service, route: Route) -> None:
        self._service, self._app = service, cast(ASGIApp, route.endpoint)
        # Revocation has no secret to check, and yet the SDK refuses a form without this field.
        self._added = b"&client_secret=" if route.path == REVOCATION_PATH else b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        connection = ClientConnection(request)
        sent: list[Message] = []

        async def keep(message: Message) -> None:
            sent.append(message)

        try:
            async with received_body(self._service, request, connection, _nobody, MAX_BODY_BYTES) as body:
                await self._app(scope, replay(body + self._added), keep)
        except ClientDisconnect:
            return
        location = Headers(raw=sent[0]["headers"]).get("location", CONNECT_PATH)
        if not location.startswith(CONNECT_PATH):
            # The SDK sends errors to an address of the client, and anybody can describe a client.
            said = parse_qs(urlsplit(location).query).get("error_description", ["invalid"])[0]
            raise HTTPException(400, f"The program that sent you here asks for what it may not: {said:.300}")
        for message in sent:
            await send(message)


def _bearer_of(request: Request) -> str:
    """The token of a request; empty without exactly one."""
    values = request.headers.getlist("authorization")
    scheme, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return token if scheme.lower() == "bearer" else ""


async def _nobody() -> None:
    """OAuth requests bring no key."""
