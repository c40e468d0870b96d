"""The command serve: pgrecall as an HTTP service."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from pgrecall.errors import InvalidInput, MissingExtra
from pgrecall.faces.cli.invocation import (
    GlobalOptions,
    allow_superuser_option,
    announce,
    is_fresh,
    pass_globals,
    require_unprivileged,
)
from pgrecall.faces.cli.rendering.console import notes
from pgrecall.faces.serving import run_until_stopped
from pgrecall.setting_types import LOOPBACK
from pgrecall.settings import Settings

if TYPE_CHECKING:
    from pgrecall.faces.http.access_policy import AccessPolicy
    from pgrecall.faces.http.logs import LogForm
    from pgrecall.faces.http.oauth.server import OAuth
    from pgrecall.faces.http.service import Service

_PACKAGES = {
    "fastapi": "FastAPI",
    "uvicorn": "uvicorn",
    "prometheus_client": "prometheus-client",
    "structlog": "structlog",
    "jinja2": "Jinja2",
    "networkx": "networkx",
    "numpy": "NumPy",
}

_WARM_CONNECTIONS = 2
"""Connections kept ready. Of a burst, most requests get one of these sooner than a new one would be."""


@click.command("serve")
@click.option("--host", help="Address to listen at [PGRECALL_HTTP_HOST]; by default 127.0.0.1.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Port to listen at [PGRECALL_HTTP_PORT]; by default 8766; 0 takes a free one.",
)
@click.option("--without-keys", is_flag=True, help="Serve every caller without a key, as one tenant.")
@click.option(
    "--oauth",
    metavar="URL",
    help="Public address of this service, at which programs elsewhere connect by OAuth [PGRECALL_OAUTH_URL].",
)
@click.option("--no-page", is_flag=True, help="Serve the API only, without the page for browsers.")
@click.option("--json-log", is_flag=True, help="Log JSON lines even if standard error is a terminal.")
@allow_superuser_option
@pass_globals
def serve(
    given: GlobalOptions,
    host: str | None,
    port: int | None,
    without_keys: bool,
    oauth: str | None,
    no_page: bool,
    json_log: bool,
    allow_superuser: bool,
) -> None:
    """Serve memories over HTTP until SIGTERM or Ctrl-C: JSON at /v1, and a page for browsers at /.

    Callers present a key from `pgrecall keys create`, which acts for one tenant. A service that listens at
    127.0.0.1 needs none as long as no key exists. /openapi.json describes the API.
    """
    require_http_packages()
    wanted: dict[str, Any] = {
        "http_host": host,
        "http_port": port,
        "oauth_url": oauth,
        "allow_superuser": allow_superuser or None,
    }
    settings = replace(
        given.settings(), **{name: value for name, value in wanted.items() if value is not None}
    )
    form: LogForm = "json" if json_log or not sys.stderr.isatty() else "console"
    if settings.oauth_url is not None:
        _require_for_oauth(keyless=without_keys, with_page=not no_page)
    run_until_stopped(_serve(settings, keyless=without_keys, with_page=not no_page, form=form))


async def _serve(settings: Settings, *, keyless: bool, with_page: bool, form: LogForm) -> None:
    from pgrecall import AsyncMemory
    from pgrecall.faces.http.app import create_app
    from pgrecall.faces.http.logs import forward_library_logs, service_log
    from pgrecall.faces.http.server import listening_socket, serve
    from pgrecall.faces.http.service import Service
    from pgrecall.faces.page.app import create_page

    fresh = is_fresh(settings)
    async with AsyncMemory(settings=settings) as memory:
        if fresh and memory.server is not None:
            announce(memory.server)
        await memory.keep_warm(_WARM_CONNECTIONS)
        caller = await memory.service.caller()
        require_unprivileged(caller, allowed=settings.allow_superuser)
        any_key = await memory.keys.any()
        policy = replace(
            _access_policy(settings, keyless=keyless, any_key=any_key),
            one_tenant=caller.tenant not in (None, "*"),
        )
        with listening_socket(settings.http_host, settings.http_port) as listener:
            log, port = service_log(form), listener.getsockname()[1]
            service = Service(memory, policy, log)
            oauth = _oauth(service)
            app = create_app(service, page=create_page(service, oauth) if with_page else None, oauth=oauth)
            click.echo(_address(settings.http_host, port))
            _report_access(policy, settings.tenant, any_key=any_key)
            with forward_library_logs(log):
                await serve(app, listener, timeout=settings.http_timeout)
    notes().print("stopped")


def _oauth(service: Service) -> OAuth | None:
    url = service.settings.oauth_url
    if url is None:
        return None
    from pgrecall.faces.http.oauth.server import OAuth  # needs the extra mcp

    return OAuth(service, url)


def _require_for_oauth(*, keyless: bool, with_page: bool) -> None:
    """Raises an error unless people can sign in with a key and connect programs to MCP."""
    if keyless or not with_page:
        option = "--without-keys" if keyless else "--no-page"
        raise InvalidInput(
            f"--oauth cannot be combined with {option}: people sign in to the page with a key.",
            hint=f"Leave out {option}.",
        )
    if find_spec("mcp") is None:
        raise MissingExtra("mcp", "mcp")


def require_http_packages() -> None:
    """Raises MissingExtra unless everything that the service imports is installed."""
    for module, package in _PACKAGES.items():
        if find_spec(module) is None:
            raise MissingExtra(package, "http")


def _access_policy(settings: Settings, *, keyless: bool, any_key: bool) -> AccessPolicy:
    """Who may call: all if ``keyless``; everybody on this machine if the service is local, without OAuth, and
    no key exists; otherwise only with keys; until the first key exists, every request is refused."""
    from pgrecall.faces.http.access_policy import AccessPolicy

    host = settings.http_host
    local = host.lower().strip("[]") in LOOPBACK or host.startswith("127.")
    if not keyless and (any_key or not local or settings.oauth_url is not None):
        return AccessPolicy(needs_key=True)
    return AccessPolicy(
        needs_key=False, allowed_hosts=LOOPBACK | {host.lower().strip("[]")} if local else None
    )


def _report_access(policy: AccessPolicy, tenant: str, *, any_key: bool) -> None:
    if not policy.needs_key:
        notes().print(f"No key is needed: callers act for tenant {tenant}.")
    elif any_key:
        notes().print("Callers need a key: pgrecall keys create NAME.")
    else:
        notes().print("Every request is refused until a key exists: pgrecall keys create NAME.")


def _address(host: str, port: int) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"
