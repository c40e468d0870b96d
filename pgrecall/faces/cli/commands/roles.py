"""Commands for administrators about login roles: create, bind, unbind, list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from rich.table import Table

from pgrecall.errors import InvalidInput
from pgrecall.faces.cli.commands.cells import fleet_of
from pgrecall.faces.cli.invocation import CommandGroup, GlobalOptions, pass_globals
from pgrecall.faces.cli.options import TEXT, json_option
from pgrecall.faces.cli.rendering.console import notes, output, print_json, table

if TYPE_CHECKING:
    from pgrecall.schema.roles import Rights, RoleBinding

ANY = "*"
"""Any tenant, as the database writes it."""

role_argument = click.argument("name", type=TEXT, metavar="ROLE", help="Login role.")
any_tenant_option = click.option(
    "--any-tenant", is_flag=True, help="Let the role act for any tenant, as services do."
)


@click.group("roles", cls=CommandGroup)
def roles() -> None:
    """Manage login roles and the tenant each acts for. For administrators.

    With PGRECALL_CELLS, create, bind and unbind act on every cell and on the directory.
    """


@roles.command("create")
@role_argument
@click.option("--for", "tenant", type=TEXT, metavar="TENANT", help="Tenant the role acts for.")
@any_tenant_option
@click.option("--reader", is_flag=True, help="Allow only reading.")
@click.option("--worker", is_flag=True, help="Also allow running jobs.")
@pass_globals
def create(
    given: GlobalOptions, name: str, tenant: str | None, any_tenant: bool, reader: bool, worker: bool
) -> None:
    """Create a login role that may use memories, or grant this to a role that exists, and bind it.

    The password is read from PGRECALL_ROLE_PASSWORD; only its hash is sent.
    """
    from pgrecall.schema.roles import create

    if reader and worker:
        raise InvalidInput("--reader and --worker cannot be combined.")
    wanted = _require_tenant(tenant, any_tenant=any_tenant)
    may: Rights = "reader" if reader else "worker" if worker else "app"
    if (fleet := fleet_of(given)) is not None:
        secret = given.settings().role_password
        password = secret.get_secret_value() if secret else None
        fleet.create_role(name, may=may, tenant=wanted, password=password)
    else:
        with given.located() as (url, _, settings):
            password = settings.role_password.get_secret_value() if settings.role_password else None
            create(url, name, may=may, tenant=wanted, password=password, timeout=settings.connect_timeout)
    notes().print(f"Role {name} {_acts_for(wanted)}.")


@roles.command("bind")
@role_argument
@click.argument("tenant", type=TEXT, metavar="[TENANT]", required=False, help="Tenant the role acts for.")
@any_tenant_option
@pass_globals
def bind(given: GlobalOptions, name: str, tenant: str | None, any_tenant: bool) -> None:
    """Bind a role to a tenant: it then acts for this tenant and no other."""
    from pgrecall.schema.roles import bind

    wanted = _require_tenant(tenant, any_tenant=any_tenant)
    if (fleet := fleet_of(given)) is not None:
        changed = fleet.bind_role(name, wanted)
    else:
        with given.located() as (url, _, settings):
            changed = bind(url, name, wanted, timeout=settings.connect_timeout)
    output().print(f"Role {name} {_acts_for(wanted)}{'' if changed else ' already'}.")


@roles.command("unbind")
@role_argument
@pass_globals
def unbind(given: GlobalOptions, name: str) -> None:
    """Remove a role's binding: it then acts for no tenant."""
    from pgrecall.schema.roles import unbind

    if (fleet := fleet_of(given)) is not None:
        changed = fleet.unbind_role(name)
    else:
        with given.located() as (url, _, settings):
            changed = unbind(url, name, timeout=settings.connect_timeout)
    output().print("Unbound." if changed else "It is bound to no tenant.")


@roles.command("list")
@json_option
@pass_globals
def list_(given: GlobalOptions, as_json: bool) -> None:
    """List every binding: the role, its tenant, and what it may do."""
    from pgrecall.schema.roles import bindings

    with given.located() as (url, _, settings):
        found = bindings(url, timeout=settings.connect_timeout)
    if as_json:
        print_json(found)
    elif found:
        output().print(_table(found))
    else:
        output().print("No role is bound; create one: pgrecall roles create")


def _require_tenant(tenant: str | None, *, any_tenant: bool) -> str:
    if (tenant is None) != any_tenant:
        raise InvalidInput("No tenant was given.", hint="Give --for TENANT, or --any-tenant.")
    if tenant == ANY:
        raise InvalidInput("* is not a tenant.", hint="Give --any-tenant for a role of any tenant.")
    return ANY if tenant is None else tenant


def _acts_for(tenant: str) -> str:
    return "may act for any tenant" if tenant == ANY else f"acts for tenant {tenant}"


def _table(bindings: Sequence[RoleBinding]) -> Table:
    rows = table("role", "tenant", "may", "state")
    for found in bindings:
        state = "can log in" if found.may_log_in else "cannot log in" if found.present else "does not exist"
        rows.add_row(found.role, "any" if found.tenant == ANY else found.tenant, found.may, state)
    return rows
