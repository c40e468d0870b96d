"""The command metrics: figures of the database for Prometheus, without a service."""

from __future__ import annotations

import click

from pgrecall.errors import MissingExtra
from pgrecall.faces.cli.invocation import GlobalOptions, pass_globals


@click.command("metrics")
@pass_globals
def metrics(given: GlobalOptions) -> None:
    """Print figures of the whole database as Prometheus reads them: memories by layer and zone, and jobs.

    They are those of /metrics of the service and of the worker. Where neither runs, a timer can write them to
    a file of node_exporter's textfile collector. No figure names a tenant.
    """
    from importlib.util import find_spec

    if find_spec("prometheus_client") is None:
        raise MissingExtra("prometheus-client", "http")
    from pgrecall.faces.telemetry.census import exposition_of

    with given.opened() as memory:
        click.echo(exposition_of(memory.service.census()), nl=False)
