"""Every function that a role may call refuses a tenant that lives in another cell."""

from __future__ import annotations

import psycopg

from tests.attack.calls import attacks_on, functions_of
from tests.integration.cells.conftest import Installation

OF_NO_TENANT = {
    "access_problems", "begin_reembedding", "caller", "census", "completed_query", "due_tenants",
    "hit_explanation", "installation", "make_access_partitions", "presets", "run_due_job", "schema_state",
    "shortest_job_interval", "tenants",
}  # fmt: skip
"""What a function says or does that concerns the whole database, or no tenant."""

BY_KEY = {
    "close_page_session", "find_grant", "has_active_key", "key_holder", "open_page_session",
    "page_session_tenant",
}  # fmt: skip
"""These find a tenant by a secret, and do not find one that lives elsewhere; test_routing."""


def test_every_function_refuses(two_cells: Installation) -> None:
    two_cells.memory().remember("The winch needs grease.", key="contract")
    two_cells.ask(0, "UPDATE recall.resident SET state = 'gone', cell = 1")
    others: dict[str, str] = {}
    with psycopg.connect(two_cells.cells[0]) as admin:
        functions = functions_of(admin)
        for function in functions:
            call = next(attacks_on(function, {"memory": 1, "search": 1, "plan": 1}, {}))
            outcome = "no error"
            try:
                with admin.transaction(force_rollback=True):
                    admin.execute("SELECT set_config('recall.tenant', 'acme', true)")
                    admin.execute(call.sql.encode(), call.parameters)
            except psycopg.Error as error:
                outcome = f"{error.sqlstate} {error.diag.message_primary}"
            # A value that nobody may give is refused first.
            if not outcome.startswith(("RC001", "22023 The name of the reranker")):
                others[function.name] = outcome
    assert len(functions) > 90
    assert {name: said for name, said in others.items() if name not in OF_NO_TENANT | BY_KEY} == {}
