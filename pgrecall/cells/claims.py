"""Keys, sessions and grants that two cells know, of different tenants: one of them has claimed the other's.

A service asks the cells for the digest of a key, so whoever administers a cell learns digests that are not
its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pgrecall.cells.cell import Cell
from pgrecall.cells.directory import CellEntry, Directory
from pgrecall.errors import RecallError


@dataclass(frozen=True, slots=True)
class Secret:
    """A key, session or grant by its digest. ``opens``: whether its key is not revoked."""

    digest: bytes
    tenant: str
    name: str
    opens: bool
    cell: int

    def __str__(self) -> str:
        return f"{self.name} of tenant {self.tenant} in cell {self.cell}"


def claimed(directory: Directory, cells: Iterable[tuple[CellEntry, Cell]]) -> Iterator[tuple[str, str]]:
    """Two of one digest, of tenants that live where they are: a sentence for each pair, with the way out.

    Cells that do not answer have no claims; other checks name them.
    """
    homes = {place.tenant: place.cell for place in directory.places()}
    known: dict[bytes, Secret] = {}
    for entry, cell in cells:
        for secret in _secrets(entry.number, cell):
            if homes.get(secret.tenant) != entry.number:
                continue  # what a move has left behind opens nothing
            other = known.setdefault(secret.digest, secret)
            if other.cell != secret.cell and (other.opens or secret.opens):
                first = f"{other}"
                problem = f"{first[0].upper()}{first[1:]} has the same digest as {secret}: one was claimed."
                yield problem, f"revoke the keys of both, and create others: {_revoke(other, secret)}"


def _secrets(number: int, cell: Cell) -> list[Secret]:
    try:
        return [Secret(cell=number, **row) for row in cell.secrets()]
    except RecallError:
        return []


def _revoke(*secrets: Secret) -> str:
    keys = [(secret.tenant, secret.name.rpartition(" ")[2]) for secret in secrets if secret.opens]
    return ", ".join(f"pgrecall --tenant {tenant} keys revoke {key}" for tenant, key in keys)
