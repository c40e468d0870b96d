"""Commands about the database: init, upgrade, status, postgres."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Annotated

from pgrecall.faces.cli.base import AsJson, globals_of, notes, output
from pgrecall.faces.cli.command_line import Context, Option
from pgrecall.faces.cli.json_output import plain, to_text
from pgrecall.faces.cli.rendering.status import show_status
from pgrecall.faces.cli.values import parse_moment

if TYPE_CHECKING:
    from pgrecall.embedded.shared_server import EmbeddedServer


def init(
    context: Context,
    dimensions: Annotated[
        int | None, Option(help="Of the embeddings; without it those of the configured embedder.")
    ] = None,
) -> None:
    """Make a database ready: extensions, tables and functions. Running it twice is harmless.

    Without a database URL the embedded Postgres is started, and its data created where there is none.
    """
    from pgrecall.schema import migrate
    from pgrecall.search.embed.embedder import dimensions_of, make_embedder

    with globals_of(context).located() as (url, server, settings):
        before = migrate.inspect(url, timeout=settings.connect_timeout)
        wanted = dimensions
        if wanted is None and before.dimensions is None:
            wanted = dimensions_of(make_embedder(settings))
        done = migrate.upgrade(url, dimensions=wanted, timeout=settings.connect_timeout)
        _tell(done, server)


def upgrade(context: Context) -> None:
    """Bring an initialised database to this version's schema. Running it twice is harmless."""
    from pgrecall.errors import SchemaMismatch
    from pgrecall.schema import migrate

    with globals_of(context).located() as (url, server, settings):
        before = migrate.inspect(url, timeout=settings.connect_timeout)
        if before.revision is None:
            raise SchemaMismatch("This database is not initialised.", hint="Run `pgrecall init`.")
        _tell(migrate.upgrade(url, timeout=settings.connect_timeout), server)


def status(
    context: Context,
    as_json: AsJson = False,
    now: Annotated[str | None, Option(help="The moment to compute vitality for.")] = None,
) -> None:
    """What is stored and where, layer by layer and zone by zone, and whether upkeep keeps up."""
    moment = parse_moment(now, "--now")
    with globals_of(context).opened() as memory:
        state = memory.status(now=moment)
        where = memory.server.describe() if memory.server else f"Postgres {state.server_version}"
        if as_json:
            data_dir = str(memory.server.data_dir) if memory.server else None
            output().out(to_text({**plain(state), "data_dir": data_dir}))
        else:
            show_status(output(), state, where)


def postgres(context: Context) -> None:
    """Keep the embedded Postgres running until Ctrl-C, and print its URL, for psql and other languages."""
    with globals_of(context).opened() as memory:
        if memory.server is None:
            notes().print("The database is a server of your own; there is nothing to keep running.")
            return
        output().out(memory.server.url)
        notes().print("Ready. Ctrl-C stops the server, unless somebody else still uses it.")
        stopped = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stopped.set())
        try:
            stopped.wait()
        except KeyboardInterrupt:
            notes().print("stopped")


def _tell(done: object, server: EmbeddedServer | None) -> None:
    from pgrecall.schema.migrate import Upgrade

    assert isinstance(done, Upgrade)
    terminal = output()
    after = done.after
    kept = f"schema {after.revision}, embeddings of {after.dimensions} dimensions"
    if done.before.revision is None:
        terminal.print(f"Initialised: {kept}.", soft_wrap=True)
    elif done.changed:
        terminal.print(f"Upgraded from schema {done.before.revision}: {kept}.", soft_wrap=True)
    else:
        terminal.print(f"Nothing to do: {kept}.", soft_wrap=True)
    if server is not None:
        terminal.print(f"{server.describe()}.", soft_wrap=True)
    for left in done.left:
        notes().print(f"Note: {left.problem}. An administrator runs: {left.fix}")
