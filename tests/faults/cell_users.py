"""A process of users of cells: they write and search until it is killed, and note each answer in a file.

    python -m tests.faults.cell_users DIRECTORY LEDGER PREFIX

A line of the ledger says what was acknowledged, separated by tabs: ``stored``, tenant, id and text;
``used``, tenant and the name of the access; ``found`` for a search; ``refused`` and the error; ``broken`` and
an error that no caller should see.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable

from pgrecall import Access, Memory
from pgrecall.errors import RecallError
from pgrecall.search.embed.embedder import HashEmbedder
from pgrecall.settings import Settings

DIMENSIONS = 64
WRITERS = ("acme", "acme", "acme", "acme", "beta", "beta", "gamma", "gamma")
SEARCHERS = ("acme", "acme", "beta", "gamma")
PAUSE = 0.1


class Users:
    """The threads of one process."""

    def __init__(self, memory: Memory, ledger: int, prefix: str) -> None:
        self._memory = memory
        self._ledger = ledger
        self._prefix = prefix

    def note(self, *words: object) -> None:
        """Writes a line at once, so that it outlasts a kill."""
        line = "\t".join(str(word).replace("\n", " ") for word in words) + "\n"
        os.write(self._ledger, line.encode())

    def write(self, number: int, tenant: str, turn: int) -> None:
        """Stores a memory without a key, which nothing repeats, and notes its use, which is repeated."""
        client, text = self._memory.for_tenant(tenant), f"Note {self._prefix}-{number}-{turn}."
        stored = client.remember(text, compare=False)
        self.note("stored", tenant, stored.id, text)
        use = Access(stored.id, "used", idempotency_key=f"use {stored.id}")
        for _ in range(50):
            try:
                client.record_accesses([use])
            except RecallError as error:
                self.note("refused", tenant, type(error).__name__, error.message)
                time.sleep(0.2)
            else:
                self.note("used", tenant, stored.id)
                return

    def search(self, number: int, tenant: str, turn: int) -> None:
        found = self._memory.for_tenant(tenant).search(f"note {self._prefix} {number} {turn}")
        self.note("found", tenant, len(found.hits))

    def go_on(self, work: Callable[[int, str, int], None], number: int, tenant: str) -> None:
        turn = 0
        while True:
            try:
                work(number, tenant, turn)
            except RecallError as error:
                self.note("refused", tenant, type(error).__name__, error.message)
                time.sleep(0.2)
            except BaseException as error:
                self.note("broken", tenant, repr(error))
                raise
            turn += 1
            time.sleep(PAUSE)


def main(directory: str, path: str, prefix: str) -> None:
    ledger = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    settings = Settings(tenant="acme", embedder="hash", connect_timeout=20, allow_superuser=True)
    with Memory(cells=directory, settings=settings, embedder=HashEmbedder(DIMENSIONS)) as memory:
        users = Users(memory, ledger, prefix)
        work = [(users.write, tenant) for tenant in WRITERS]
        work += [(users.search, tenant) for tenant in SEARCHERS]
        threads = [
            threading.Thread(target=users.go_on, args=(one, number, tenant), daemon=True)
            for number, (one, tenant) in enumerate(work)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
