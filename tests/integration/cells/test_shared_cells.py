"""A tenant that is shared with one that lives in another cell."""

from __future__ import annotations

import threading

import pytest

from pgrecall import InvalidInput, Memory
from pgrecall.cells.moves.move import Mover
from pgrecall.errors import RecallError
from tests.integration.cells.conftest import Installation


def together(installation: Installation, *tenants: str) -> Memory:
    """A client of acme that also reads these, by default beta."""
    return installation.memory().for_tenant("acme", also_reads=tenants or ("beta",))


def test_each_tenant_is_asked_in_its_cell(apart: Installation) -> None:
    assert apart.memory("beta").readers.add("acme")
    result = together(apart).search("winch", log=False)
    assert {(hit.tenant, hit.body) for hit in result.hits} == {
        (None, "The winch of acme."),
        ("beta", "The winch of beta."),
    }
    assert result.skipped == ()
    assert apart.memory("beta").readers.remove("acme")
    assert "is not shared with tenant acme" in "".join(together(apart).search("winch").skipped)


def test_a_memory_is_shared_with_a_tenant_of_another_cell(apart: Installation) -> None:
    memory, team = apart.memory(), apart.memory("beta")
    own = memory.remember("Aram mends the winch", key="mine")
    with pytest.raises(InvalidInput, match="Tenant beta does not let tenant acme share"):
        memory.share("mine", "beta")
    team.readers.add("acme", may_share=True)
    assert memory.share("mine", "beta").outcome == "created"
    memory.edit("mine", body="Lale mends the winch")
    copied = memory.share("mine", "beta")
    assert (copied.key, copied.outcome) == (f"acme#{own.id}", "updated")
    assert team.get(copied.id).body == "Lale mends the winch"
    with pytest.raises(InvalidInput, match="No cell has a tenant nobody"):
        memory.share("mine", "nobody")


def test_asking_for_a_tenant_that_does_not_exist_places_none(apart: Installation) -> None:
    result = together(apart, "nobody").search("winch", log=False)
    assert result.skipped == ("tenant nobody: No cell has a tenant nobody.",)
    assert apart.fleet.directory.find("beta") is not None
    assert apart.fleet.directory.find("nobody") is None


def test_a_tenant_that_moves_takes_its_readers_along(movable: Installation) -> None:
    for tenant in ("acme", "beta"):
        movable.fleet.place(tenant, 0)
        movable.memory(tenant).remember(f"The winch of {tenant}.", key="winch")
    movable.memory("beta").readers.add("acme", may_share=True)
    before = movable.memory("beta").readers.list()
    client = together(movable)
    assert len(client.search("winch", log=False).hits) == 2
    Mover(movable.fleet).move("beta", 1)
    assert movable.memory("beta").readers.list() == before
    assert len(client.search("winch", log=False).hits) == 2
    assert client.share("winch", "beta").outcome == "created"
    assert movable.memory("beta").forget(client.share("winch", "beta").id, hard=True)
    Mover(movable.fleet).finish("beta")
    assert movable.ask(0, "SELECT FROM recall.reader") == []
    Mover(movable.fleet).move("acme", 1)  # what acme may read is not acme's
    assert len(client.search("winch", log=False).hits) == 2


@pytest.mark.parametrize("moves", [[("beta", 1), ("beta", 0)], [("acme", 1), ("beta", 1), ("acme", 0)]])
def test_copies_go_on_while_tenants_move(movable: Installation, moves: list[tuple[str, int]]) -> None:
    """Each copy that was acknowledged is there once, as it was last copied."""
    for tenant in ("acme", "beta"):
        movable.fleet.place(tenant, 0)
        movable.memory(tenant).remember(f"The winch of {tenant}.", key="winch")
    movable.memory("beta").readers.add("acme", may_share=True)
    stop, acknowledged, failed = threading.Event(), {}, []

    def share(client: Memory, writer: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            try:
                key = f"{writer}-{number % 5}"
                client.remember(f"Note {number}.", key=key, compare=False)
                copy = client.share(key, "beta")
                acknowledged[copy.key] = (copy.id, f"Note {number}.")
            except RecallError as error:
                failed.append(error)

    threads = [threading.Thread(target=share, args=(movable.memory(), writer)) for writer in range(2)]
    for thread in threads:
        thread.start()
    try:
        for tenant, cell in moves:
            Mover(movable.fleet).move(tenant, cell)
            Mover(movable.fleet).finish(tenant)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failed == []
    held = [
        row
        for cell in (0, 1)
        for row in movable.ask(
            cell, "SELECT id, key, body FROM recall.memory WHERE tenant = 'beta' AND key <> 'winch'"
        )
    ]
    assert {row["key"]: (row["id"], row["body"]) for row in held} == acknowledged
    assert len(held) == len(acknowledged) == 10
