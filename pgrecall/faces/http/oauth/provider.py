"""What the parts of the MCP SDK ask of an authorization server: clients, codes and tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import BaseModel

from pgrecall.faces.http.oauth.clients import client_of, register
from pgrecall.faces.http.request_limits import MAX_PATH_BYTES
from pgrecall.nouns.keys.operations import TOKEN, TokenKind, grant_name, new_token

if TYPE_CHECKING:
    from pgrecall.faces.http.service import Service
    from pgrecall.nouns.keys.models import Grant

ACCESS_SECONDS = 3600
REFRESH_SECONDS = 30 * 24 * 3600
"""Since the last refresh."""

CONNECT_PATH = "/connect"
"""The view of the page on which a person agrees."""

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")

T = TypeVar("T", bound=BaseModel)


class Code(AuthorizationCode):
    tenant: str


class Refresh(RefreshToken):
    tenant: str


class Access(AccessToken):
    tenant: str
    also_reads: tuple[str, ...] = ()


class Provider(OAuthAuthorizationServerProvider[Code, Refresh, Access]):
    """The provider of a service.

    Args:
        resource: the address that tokens are for.
    """

    def __init__(self, service: Service, resource: str) -> None:
        self._service = service
        self.resource = resource

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return client_of(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        register(client_info)

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.require_valid(params)
        asked = {
            "client_id": client.client_id,
            "redirect_uri": str(params.redirect_uri),
            "code_challenge": params.code_challenge,
            **({} if params.state is None else {"state": params.state}),
            **({"scope": " ".join(params.scopes)} if params.scopes else {}),
        }
        address = f"{CONNECT_PATH}?{urlencode(asked)}"
        if len(address) > MAX_PATH_BYTES:
            raise AuthorizeError("invalid_request", "The state is too long.")
        return address

    async def load_authorization_code(
        self, _: OAuthClientInformationFull, authorization_code: str
    ) -> Code | None:
        grant = await self._grant("c", authorization_code)
        if grant is None:
            return None
        terms = {**grant.terms, "code": authorization_code, "expires_at": math.inf}
        return Code.model_validate({**terms, "tenant": grant.tenant})

    async def exchange_authorization_code(
        self, _: OAuthClientInformationFull, authorization_code: Code
    ) -> OAuthToken:
        code = authorization_code
        return await self._exchange(code.tenant, code.code, code.scopes)

    async def load_refresh_token(self, _: OAuthClientInformationFull, refresh_token: str) -> Refresh | None:
        return self._token(Refresh, refresh_token, await self._grant("r", refresh_token))

    async def exchange_refresh_token(
        self, _: OAuthClientInformationFull, refresh_token: Refresh, scopes: list[str]
    ) -> OAuthToken:
        if {*scopes} != {*refresh_token.scopes}:
            raise TokenError("invalid_scope", "A grant keeps its scopes; connect again for others.")
        return await self._exchange(refresh_token.tenant, refresh_token.token, scopes)

    async def load_access_token(self, token: str) -> Access | None:
        return self._token(Access, token, await self._grant("a", token))

    async def verify_token(self, token: str) -> Access | None:
        return await self.load_access_token(token)

    async def revoke_token(self, token: Access | Refresh) -> None:
        async with self._service.queue.slot(token.tenant):
            await self._service.memory.for_tenant(token.tenant).keys.close_grant(token.token)

    async def _grant(self, kind: TokenKind, token: str) -> Grant | None:
        """The grant of a token that may be used. One that was exchanged before has been copied: it ends.

        The clock of the database decides; the SDK would ask that of this machine, which may differ.
        """
        match = TOKEN.fullmatch(token)
        if match is None or match["kind"] != kind:
            return None
        service, name = self._service, match["name"]
        async with service.queue.slot(service.tenants.of(name)):
            grant = await service.memory.keys.grant(token)
            if grant is None:
                return None
            service.tenants.note(name, grant.tenant)
            if grant.usable:
                return grant
            if kind != "a":
                await service.memory.for_tenant(grant.tenant).keys.close_grant(token)
        return None

    async def _exchange(self, tenant: str, token: str, scopes: Sequence[str]) -> OAuthToken:
        name = grant_name(token)
        following, access = new_token("r", name), new_token("a", name)
        async with self._service.queue.slot(tenant):
            keys = self._service.memory.for_tenant(tenant).keys
            exchanged = await keys.exchange_grant(token, following, access, ACCESS_SECONDS, REFRESH_SECONDS)
        if not exchanged:
            raise TokenError("invalid_grant", "This code or token was used before, or its key was revoked.")
        return OAuthToken(
            access_token=access,
            expires_in=ACCESS_SECONDS,
            scope=" ".join(scopes),
            refresh_token=following,
        )

    @staticmethod
    def _token(kind: type[T], token: str, grant: Grant | None) -> T | None:
        if grant is None:
            return None
        terms = {**grant.terms, "token": token, "tenant": grant.tenant, "also_reads": grant.also_reads}
        return kind.model_validate(terms)

    def require_valid(self, params: AuthorizationParams) -> None:
        """Raises AuthorizeError for what no client may ask for."""
        if not _CHALLENGE.fullmatch(params.code_challenge):
            raise AuthorizeError("invalid_request", "The code_challenge must be that of the method S256.")
        if params.resource is not None and params.resource.rstrip("/") != self.resource:
            raise AuthorizeError("invalid_target", f"There is no such resource here, only {self.resource}.")
        if not params.redirect_uri_provided_explicitly:
            raise AuthorizeError("invalid_request", "The redirect_uri is required.")
