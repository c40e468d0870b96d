"""Commands about the keys of the HTTP service: key create, list, revoke."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

from pgrecall.faces.cli.base import AsJson, globals_of, notes, output
from pgrecall.faces.cli.command_line import Argument, CommandGroup, Context
from pgrecall.faces.cli.json_output import plain, to_text
from pgrecall.faces.cli.tables import Table
from pgrecall.faces.cli.values import text
from pgrecall.models.service import ApiKey

key_commands = CommandGroup("Keys that callers of `pgrecall serve` show; each acts for one tenant.")


@key_commands.add("create")
def create(
    context: Context,
    name: Annotated[str, Argument(metavar="NAME", help="Who will hold it.")],
    as_json: AsJson = False,
) -> None:
    """Make a key for the tenant of --tenant. It is shown this once: the database keeps only its digest."""
    with globals_of(context).opened() as memory:
        issued = memory.keys.create(text(name, "The name of the key"))
        if as_json:
            output().out(to_text({**plain(issued.key), "secret": issued.secret}))
        else:
            output().out(issued.secret)
        notes().print(f"Key {issued.key.id} of tenant {memory.tenant}. Keep it: it is not shown again.")


@key_commands.add("list")
def list_(context: Context, as_json: AsJson = False) -> None:
    """The keys of this tenant, newest first: when each was made, last used, revoked."""
    with globals_of(context).opened() as memory:
        keys = memory.keys.list()
    if as_json:
        output().out(to_text(keys))
    elif keys:
        output().show(_table(keys))
    else:
        output().print("There is no key yet; `pgrecall key create NAME` makes one.")


@key_commands.add("revoke")
def revoke(context: Context, key: Annotated[int, Argument(metavar="ID", help="As in `key list`.")]) -> None:
    """Make a key useless, from this moment on and for good."""
    with globals_of(context).opened() as memory:
        changed = memory.keys.revoke(key)
    output().print("Revoked." if changed else "It was revoked before.")


def _table(keys: Sequence[ApiKey]) -> Table:
    shown = Table("id", "name", "made", "last used", "state", right=("id",))
    for key in keys:
        revoked = f"revoked {_minute(key.revoked_at)}" if key.revoked_at else "valid"
        last = _minute(key.last_used_at) if key.last_used_at else "never"
        shown.add_row(str(key.id), key.name, _minute(key.created_at), last, revoked)
    return shown


def _minute(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
