"""Clients of OAuth: the id of a client is its description, so that registration stores nothing.

Registration is open, so an id proves no more than what its client says. Nobody can fill anything by
registering, and no client is forgotten. Every client is public: it shows PKCE instead of a secret.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from mcp.server.auth.provider import RegistrationError
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl, BaseModel

from pgrecall.setting_types import LOOPBACK

READ, WRITE = "read", "write"
SCOPES = (READ, WRITE)
"""What a client may ask for: to search and read, or besides that to store, change and forget. Without a word,
it asks for both."""

MAX_ID = 1200
MAX_REDIRECTS = 10
MAX_REDIRECT = 300
"""Characters of a redirect URI."""
MAX_NAME = 80

_OF_BROWSERS = {
    "about", "blob", "data", "feed", "file", "filesystem", "ftp", "intent", "jar", "javascript", "livescript",
    "mailto", "mhtml", "mocha", "resource", "sms", "tel", "vbscript", "view-source", "ws", "wss", "wyciwyg",
    "hcp", "ldap", "nfs", "res", "search", "shell", "smb", "ssh", "dict", "gopher", "mk", "shortcuts",
}  # fmt: skip
_BEGIN_OF_BROWSERS = (
    "brave",
    "chrome",
    "firefox",
    "google",
    "itms",
    "microsoft-",
    "moz-",
    "ms-",
    "opera",
    "search-",
)
"""Schemes that a browser or the system acts on itself, such as `ms-msdt`; others open the program that has
registered them."""


class _Description(BaseModel):
    """What the id of a client consists of."""

    name: str
    redirects: list[str]


def register(client: OAuthClientInformationFull) -> None:
    """Makes its description the id of a client, and the client public.

    Raises:
        RegistrationError: a redirect URI is not safe, or there are too many.
    """
    name = "".join(letter for letter in client.client_name or "" if letter.isprintable())
    # As later requests write them: an address without a path has the path /.
    redirects = [AnyUrl(str(each)) for each in client.redirect_uris or []]
    if not _are_safe(redirects):
        raise RegistrationError(
            "invalid_redirect_uri",
            f"There must be 1 to {MAX_REDIRECTS} redirect URIs of at most {MAX_REDIRECT} characters: "
            "https, http to this machine, or the scheme of a program.",
        )
    made = _client(name.strip()[:MAX_NAME], redirects)
    if len(made.client_id) > MAX_ID:
        raise RegistrationError("invalid_redirect_uri", "The redirect URIs are too long together.")
    for field in ("client_id", "client_name", "scope", "token_endpoint_auth_method", "grant_types"):
        setattr(client, field, getattr(made, field))
    client.client_secret = client.client_secret_expires_at = None


def client_of(client_id: str) -> OAuthClientInformationFull | None:
    """The client that an id describes; None if it is no id that this version gives."""
    if not client_id.isascii() or len(client_id) > MAX_ID:
        return None
    try:
        described = _Description.model_validate_json(base64.urlsafe_b64decode(f"{client_id}=="))
        redirects = [AnyUrl(each) for each in described.redirects]
    except ValueError:
        return None
    client = _client(described.name, redirects)
    name = described.name
    known = client.client_id == client_id and name.isprintable() and len(name) <= MAX_NAME
    return client if known and _are_safe(redirects) else None


def _client(name: str, redirects: Sequence[AnyUrl]) -> OAuthClientInformationFull:
    described = _Description(name=name, redirects=[str(each) for each in redirects])
    encoded = base64.urlsafe_b64encode(described.model_dump_json().encode()).decode()
    return OAuthClientInformationFull(
        client_id=encoded.rstrip("="),
        client_name=name or "A program without a name",
        redirect_uris=[*redirects],
        scope=" ".join(SCOPES),
        token_endpoint_auth_method="none",
        grant_types=["authorization_code", "refresh_token"],
    )


def _are_safe(redirects: Sequence[AnyUrl]) -> bool:
    return 1 <= len(redirects) <= MAX_REDIRECTS and all(map(_is_safe, redirects))


def _is_safe(redirect: AnyUrl) -> bool:
    """Whether a code may be sent there: over TLS, to this machine, or to a program by its own scheme."""
    text, host = str(redirect), redirect.host or ""
    if len(text) > MAX_REDIRECT or not text.isascii() or redirect.fragment is not None:
        return False
    if redirect.username is not None or redirect.password is not None:
        return False
    if redirect.scheme in ("http", "https"):
        return bool(host) and (redirect.scheme == "https" or host.strip("[]") in LOOPBACK)
    return redirect.scheme not in _OF_BROWSERS and not redirect.scheme.startswith(_BEGIN_OF_BROWSERS)
