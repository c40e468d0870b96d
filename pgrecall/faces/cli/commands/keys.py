"""Commands about keys of the HTTP service, and about what people let programs do with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import click

from pgrecall.faces.cli.declared_commands import add_commands, command
from pgrecall.faces.cli.invocation import DONE, CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option
from pgrecall.faces.cli.rendering.console import SafeConsole, notes, plain, print_json, table
from pgrecall.faces.wording import rights_words
from pgrecall.nouns.keys._sync import KeysGroup
from pgrecall.nouns.keys.models import ApiKey, OpenGrant


@click.group("keys", cls=CommandGroup)
def keys() -> None:
    """Manage the keys of `pgrecall serve`. Each key acts for one tenant."""


@keys.command("create")
@click.argument("name", type=TEXT, metavar="NAME", help="Name of the key's holder.")
@click.option("--read-only", is_flag=True, help="Allow only searching and reading.")
@click.option(
    "--also-reads",
    type=TEXT,
    multiple=True,
    metavar="TENANT",
    help="Tenant to search as well, while it has this one as a reader; may be repeated.",
)
@json_option
@pass_globals
def create(
    given: GlobalOptions, name: str, read_only: bool, also_reads: tuple[str, ...], as_json: bool
) -> None:
    """Create a key for the tenant of --tenant. It is shown only once: the database stores only its digest."""
    with given.opened() as memory:
        issued = memory.keys.create(name, read_only=read_only, also_reads=also_reads)
        if as_json:
            print_json({**plain(issued.key), "secret": issued.secret})
        else:
            click.echo(issued.secret)
        notes().print(f"Key {issued.key.id} of tenant {memory.tenant}. Store it: it is not shown again.")
        if len(memory.keys.list()) == 1:
            notes().print(
                "A local service that was started without keys lets everybody in until it is restarted."
            )


def _show(console: SafeConsole, found: Sequence[ApiKey]) -> None:
    rows = table("id", "name", "may", "created", "last used", "state", right=("id",))
    for key in found:
        state = f"revoked {_minute(key.revoked_at)}" if key.revoked_at else "valid"
        last = _minute(key.last_used_at) if key.last_used_at else "never"
        may = "read" if key.read_only else "read and write"
        may += "".join(f", also read {tenant}" for tenant in key.also_reads)
        rows.add_row(str(key.id), key.name, may, _minute(key.created_at), last, state)
    console.print(rows)


def _minute(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def _show_grants(console: SafeConsole, found: Sequence[OpenGrant]) -> None:
    rows = table("id", "program", "sent to", "may", "key", "ends if unused")
    for grant in found:
        may, key = rights_words(grant.scopes), f"{grant.key_id} {grant.key_name}"
        rows.add_row(grant.id, grant.client, grant.redirect, may, key, _minute(grant.ends_at))
    console.print(rows)


_key = {"key": "Id of the key, as in `pgrecall keys list`."}
add_commands(
    keys,
    "create list revoke grants end-grant",
    command(
        "list",
        KeysGroup.list,
        _show,
        otherwise="There is no key yet; create one: pgrecall keys create NAME",
        code=DONE,
    ),
    command(
        "revoke", KeysGroup.revoke, "Revoked.", otherwise="It was already revoked.", code=DONE, helps=_key
    ),
    command(
        "grants",
        KeysGroup.grants,
        _show_grants,
        otherwise="No program has been connected by OAuth.",
        code=DONE,
    ),
    command(
        "end-grant",
        KeysGroup.end_grant,
        "Ended.",
        otherwise="There is no such grant.",
        helps={"grant": "Id of the grant, as in `pgrecall keys grants`."},
    ),
    of=KeysGroup,
)
