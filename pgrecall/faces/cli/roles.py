"""Commands for administrators about login roles: role create, bind, unbind, list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.base import AsJson, globals_of, notes, output
from pgrecall.faces.cli.command_line import Argument, CommandGroup, Context, Option
from pgrecall.faces.cli.json_output import to_text
from pgrecall.faces.cli.tables import Table
from pgrecall.faces.cli.values import text

if TYPE_CHECKING:
    from pgrecall.schema.roles import RoleBinding

ANY = "*"
"""Any tenant, as the database writes it."""

role_commands = CommandGroup(
    "Login roles of the database, and whose memories each acts for. For administrators.",
)

Name = Annotated[str, Argument(metavar="ROLE", help="The login role.")]
AnyTenant = Annotated[bool, Option("--any-tenant", help="It may name any tenant: for services.")]


@role_commands.add("create")
def create(
    context: Context,
    name: Name,
    bound: Annotated[str | None, Option("--for", metavar="TENANT", help="The one it acts for.")] = None,
    any_tenant: AnyTenant = False,
    reader: Annotated[bool, Option("--reader", help="It may read, and change nothing.")] = False,
    worker: Annotated[bool, Option("--worker", help="It may also run jobs.")] = False,
) -> None:
    """Make a login role that may use memories, or make the one there is so, and bind it.

    Its password is taken from PGRECALL_ROLE_PASSWORD; only a hash of it is sent.
    """
    from pgrecall.schema import roles

    if reader and worker:
        raise InvalidInput("--reader and --worker exclude each other.")
    tenant = _tenant(bound, any_tenant=any_tenant)
    with globals_of(context).located() as (url, _, settings):
        password = settings.role_password.get_secret_value() if settings.role_password else None
        roles.create(
            url,
            text(name, "The role"),
            may="reader" if reader else "worker" if worker else "app",
            tenant=tenant,
            password=password,
            timeout=settings.connect_timeout,
        )
    notes().print(f"Role {name} {_acts_for(tenant)}.")


@role_commands.add("bind")
def bind(
    context: Context,
    name: Name,
    tenant: Annotated[str | None, Argument(metavar="TENANT", help="The one it acts for.")] = None,
    any_tenant: AnyTenant = False,
) -> None:
    """Bind a role: from now on it acts for this tenant and no other, whatever it asks."""
    from pgrecall.schema import roles

    wanted = _tenant(tenant, any_tenant=any_tenant)
    with globals_of(context).located() as (url, _, settings):
        changed = roles.bind(url, text(name, "The role"), wanted, timeout=settings.connect_timeout)
    said = f"Role {name} {_acts_for(wanted)}"
    output().print(f"{said}." if changed else f"{said} already.", soft_wrap=True)


@role_commands.add("unbind")
def unbind(context: Context, name: Name) -> None:
    """Take a role's binding away: it then acts for no tenant."""
    from pgrecall.schema import roles

    with globals_of(context).located() as (url, _, settings):
        changed = roles.unbind(url, text(name, "The role"), timeout=settings.connect_timeout)
    output().print("Unbound." if changed else "It was bound to none.")


@role_commands.add("list")
def list_(
    context: Context,
    as_json: AsJson = False,
) -> None:
    """Every binding: role, tenant, and the most the role may do."""
    from pgrecall.schema import roles

    with globals_of(context).located() as (url, _, settings):
        found = roles.bindings(url, timeout=settings.connect_timeout)
    if as_json:
        output().out(to_text(found))
    elif found:
        output().show(_table(found))
    else:
        output().print("No role is bound; `pgrecall role create` makes one.")


def _tenant(named: str | None, *, any_tenant: bool) -> str:
    if (named is None) != any_tenant:
        raise InvalidInput("Whom it acts for is not clear.", hint="Name one tenant, or say --any-tenant.")
    if named == ANY:
        raise InvalidInput("* is no tenant.", hint="Say --any-tenant for a role that may name any.")
    return ANY if named is None else text(named, "The tenant")


def _acts_for(tenant: str) -> str:
    return "may name any tenant" if tenant == ANY else f"acts for tenant {tenant}"


def _table(bindings: Sequence[RoleBinding]) -> Table:
    shown = Table("role", "tenant", "may", "state")
    for found in bindings:
        state = "can log in" if found.may_log_in else "cannot log in" if found.present else "is not there"
        tenant = "any" if found.tenant == ANY else found.tenant
        shown.add_row(found.role, tenant, found.may, state)
    return shown
