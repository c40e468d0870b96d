"""The connections that runs go over: opened when needed, anew after they broke, broken off from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

from pgrecall.database.connections import Session
from pgrecall.database.pool import Database


class Line:
    """A session that is opened when first asked for, and anew after it was hung up."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stack = ExitStack()
        self.current: Session | None = None

    def session(self) -> Session:
        """The session of this line.

        Raises:
            DatabaseUnavailable: none could be opened.
        """
        if self.current is None:
            self.current = self._stack.enter_context(self._database.session())
        return self.current

    def hang_up(self) -> None:
        """Closes the session, and with it gives back every lock it holds."""
        self.current = None
        self._stack.close()


class Lines:
    """All lines in use."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = Lock()
        self._used: list[Line] = []

    @contextmanager
    def line(self) -> Iterator[Line]:
        """A line of one's own, hung up at the end."""
        line = Line(self._database)
        with self._guard:
            self._used.append(line)
        try:
            yield line
        finally:
            with self._guard:
                self._used.remove(line)
            line.hang_up()

    def cancel(self) -> None:
        """Breaks off every statement that runs on them now; their transactions leave nothing behind."""
        with self._guard:
            sessions = [line.current for line in self._used]
        for session in sessions:
            if session is not None:
                session.cancel()
