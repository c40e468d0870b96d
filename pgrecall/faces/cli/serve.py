"""The command serve: pgrecall as an HTTP service."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

from pgrecall import __version__
from pgrecall.errors import InvalidInput, MissingExtra
from pgrecall.faces.cli.base import AllowSuperuser, announce, globals_of, is_fresh, notes, output
from pgrecall.faces.cli.command_line import Context, Option
from pgrecall.settings import Settings

if TYPE_CHECKING:
    from pgrecall.faces.http.logs import Log, LogForm
    from pgrecall.faces.http.service import Door

_PACKAGES = {"fastapi": "FastAPI", "uvicorn": "uvicorn", "prometheus_client": "prometheus-client",
             "structlog": "structlog"}  # fmt: skip


def serve(
    context: Context,
    host: Annotated[str | None, Option(help="Address to listen at [PGRECALL_HTTP_HOST], 127.0.0.1.")] = None,
    port: Annotated[
        int | None,
        Option(low=0, high=65535, help="Port [PGRECALL_HTTP_PORT], 8766; 0 takes a free one."),
    ] = None,
    keyless: Annotated[
        bool, Option("--without-keys", help="Let everybody in who can reach it, as one tenant.")
    ] = False,
    no_page: Annotated[
        bool, Option("--no-page", help="Serve the API alone, without the page for a browser.")
    ] = False,
    json_log: Annotated[
        bool, Option("--json-log", help="Log JSON lines, also where standard error is a terminal.")
    ] = False,
    allow_superuser: AllowSuperuser = False,
) -> None:
    """Serve memories over HTTP until SIGTERM or Ctrl-C: JSON at /v1, described at /openapi.json,
    and at / a page to look at them in a browser.

    Callers show a key from `pgrecall key create`, which acts for one tenant. On this machine alone none is
    needed as long as there is none.
    """
    for module, package in _PACKAGES.items():
        if find_spec(module) is None:
            raise MissingExtra(package, "http")
    given: dict[str, Any] = {"http_host": host, "http_port": port, "allow_superuser": allow_superuser or None}
    settings = replace(
        globals_of(context).settings(), **{name: value for name, value in given.items() if value is not None}
    )
    form: LogForm = "json" if json_log or not sys.stderr.isatty() else "console"
    asyncio.run(_serve(settings, keyless=keyless, with_page=not no_page, form=form))


async def _serve(settings: Settings, *, keyless: bool, with_page: bool, form: LogForm) -> None:
    from pgrecall import AsyncMemory
    from pgrecall.faces.http.app import create_app
    from pgrecall.faces.http.logs import bridged, service_log
    from pgrecall.faces.http.server import listening_socket, serve
    from pgrecall.faces.http.service import Service
    from pgrecall.faces.page.app import create_page
    from pgrecall.faces.privileges import say_who_serves

    fresh = is_fresh(settings)
    async with AsyncMemory(settings=settings) as memory:
        if fresh and memory.server is not None:
            announce(memory.server)
        say_who_serves(await memory.service.caller(), allowed=settings.allow_superuser)
        door = _door(settings.http_host, keyless=keyless, any_key=await memory.keys.any())
        with listening_socket(settings.http_host, settings.http_port) as listener:
            log, port = service_log(form), listener.getsockname()[1]
            token = f"pgs_{secrets.token_urlsafe(32)}" if door.needs_key else None
            service = Service(memory, door, log, token=token)
            app = create_app(service, page=create_page(service) if with_page else None)
            output().out(_address(settings.http_host, port))
            _say_who_gets_in(door, settings.tenant)
            with bridged(log), _announced(settings, port, token, log):
                await serve(app, listener, patience=settings.http_patience)
    notes().print("stopped")


@contextmanager
def _announced(settings: Settings, port: int, token: str | None, log: Log) -> Iterator[None]:
    """Meanwhile the command line on this machine finds the service, and borrows its models."""
    from pgrecall.faces.cli.model_lending import OFF
    from pgrecall.faces.service_announcement import Announcement, announced
    from pgrecall.search.lending.matching import embedder_identity, reranker_identity

    own = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.http_host, settings.http_host)
    announcement = Announcement(
        _address(own, port),
        os.getpid(),
        __version__,
        embedder_identity(settings),
        reranker_identity(settings),
        token,
    )
    with ExitStack() as stack:
        if settings.server != OFF:
            try:
                stack.enter_context(announced(settings.data_dir, port, announcement))
            except OSError as error:
                log.warning("the command line will not find this service", problem=str(error))
        yield


def _door(host: str, *, keyless: bool, any_key: bool) -> Door:
    """Who is let in: with keys once there are any; without, only callers on this machine, unless told."""
    from pgrecall.faces.http.local_requests import LOOPBACK
    from pgrecall.faces.http.service import Door

    local = host.lower().strip("[]") in LOOPBACK or host.startswith("127.")
    if not (local or any_key or keyless):
        raise InvalidInput(
            f"There is no key, so everybody who reaches {host} could read and change all memories.",
            hint="Make one with `pgrecall key create NAME`, listen at 127.0.0.1, or say --without-keys.",
        )
    if any_key and not keyless:
        return Door(needs_key=True)
    return Door(needs_key=False, hosts=LOOPBACK | {host.lower().strip("[]")} if local else None)


def _say_who_gets_in(door: Door, tenant: str) -> None:
    if door.needs_key:
        notes().print("Callers need a key: pgrecall key create NAME.")
    else:
        notes().print(f"No key is needed: callers act for tenant {tenant}.")


def _address(host: str, port: int) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"
