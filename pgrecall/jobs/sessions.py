"""Connections of running attempts: opened when needed, reopened after a loss, cancelled from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

from pgrecall.database.connections import Session
from pgrecall.database.pool import Database


class JobSession:
    """A session that opens on first use, and again after it was closed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stack = ExitStack()
        self.current: Session | None = None

    def get(self) -> Session:
        """The open session.

        Raises:
            DatabaseUnavailable: none could be opened.
        """
        if self.current is None:
            self.current = self._stack.enter_context(self._database.session())
        return self.current

    def close(self) -> None:
        """Closes the session, which releases its locks."""
        self.current = None
        self._stack.close()


class JobSessions:
    """All sessions in use."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = Lock()
        self._used: list[JobSession] = []

    @contextmanager
    def one(self) -> Iterator[JobSession]:
        """Opens a session and closes it at the end."""
        mine = JobSession(self._database)
        with self._guard:
            self._used.append(mine)
        try:
            yield mine
        finally:
            with self._guard:
                self._used.remove(mine)
            mine.close()

    def cancel(self) -> None:
        """Cancels every running statement; their transactions leave nothing behind."""
        with self._guard:
            sessions = [each.current for each in self._used]
        for session in sessions:
            if session is not None:
                session.cancel()
