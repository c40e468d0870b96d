"""Addresses of cells: connection strings without user and password, which the connecting client adds."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgrecall.errors import InvalidInput

_OF_THE_CALLER = ("user", "password", "passfile", "sslkey", "sslcert", "sslpassword")
_OF_THE_PLACE = ("host", "hostaddr", "port", "dbname")


def address_of(url: str) -> str:
    """Returns the address in a URL: the URL without user and password.

    Raises:
        InvalidInput: it cannot be read, or names no database.
    """
    parts = _parts(url)
    if not parts.get("dbname"):
        raise InvalidInput(
            "The URL of a cell must name its database.", hint="As in postgresql://user@host:5432/database."
        )
    return make_conninfo("", **{name: value for name, value in parts.items() if name not in _OF_THE_CALLER})


def url_at(address: str, caller: str) -> str:
    """The connection string of an address for a client that opened the directory with the URL ``caller``."""
    theirs = {name: value for name, value in _parts(caller).items() if name not in _OF_THE_PLACE}
    return make_conninfo("", **(theirs | _parts(address)))


def shown(address: str) -> str:
    """Returns an address in short: host, port and database."""
    parts = _parts(address)
    host = parts.get("host") or parts.get("hostaddr") or "local"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{host}{port}/{parts.get('dbname', '')}"


def _parts(url: str) -> dict[str, Any]:
    try:
        return {name: value for name, value in conninfo_to_dict(url).items() if value is not None}
    except psycopg.ProgrammingError:
        raise InvalidInput(
            "The URL of a cell or of the directory cannot be read.",
            hint="Write it as postgresql://user:password@host:5432/database, special characters %-encoded.",
        ) from None
