"""A folder of backups, named after the database and the moment, of which the newest are kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

from pgrecall.database.connections import connect
from pgrecall.errors import DatabaseUnsuitable, InvalidInput
from pgrecall.schema.backups.making import PART, Backup, make_backup, reading_role
from pgrecall.schema.roles import act_as_owner

_FACTS = (
    "SELECT current_database() AS database, clock_timestamp() AS now, "
    "(SELECT s.value ->> 'number' FROM recall.setting s WHERE s.tenant = '*' AND s.name = 'cell') AS cell"
)


@dataclass(frozen=True, slots=True)
class BackupFolder:
    """Where the backups of a database go.

    Attributes:
        url: of a role that may read everything.
        folder: created if it is missing.
        keep: number of backups to keep; older ones of this database are deleted after a new one is complete.
    """

    url: str
    folder: Path
    keep: int
    timeout: float = 10.0

    def add(self, *, now: datetime | None = None, stop: Event | None = None) -> tuple[Backup, int]:
        """Makes a backup and deletes old ones.

        Args:
            now: moment in its name; by default that of the database's clock.

        Returns:
            The backup, and the number of files that were deleted.

        Raises:
            What :func:`make_backup` raises; no old backup is deleted then.
        """
        try:
            name, moment = self._named(now)
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for left in self._files(name, PART):  # of a run that was killed: only one runs at a time
                left.unlink(missing_ok=True)
            path = self.folder / f"{name}-{moment:%Y%m%dT%H%M%SZ}.dump"
            made = make_backup(self.url, path, timeout=self.timeout, stop=stop)
            # One with a later name is older: the clock was ahead when it was made.
            old = sorted(self._files(name), key=lambda each: (each <= path, each))[: -self.keep]
            for each in old:
                each.unlink(missing_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"The folder of backups {self.folder} cannot be used: {error.strerror or error}.",
                hint="Set PGRECALL_BACKUP_DIR to a folder that the worker may write to.",
            ) from error
        except DatabaseUnsuitable as error:
            raise DatabaseUnsuitable(
                error.message, hint=f"Set PGRECALL_BACKUP_URL to the URL of such a role. {error.hint}"
            ) from error
        return made, len(old)

    def _named(self, now: datetime | None) -> tuple[str, datetime]:
        """The beginning of the names of this database's backups, and the moment of a new one."""
        with connect(self.url, timeout=self.timeout) as connection:
            reading_role(connection)
            with connection.transaction():
                act_as_owner(connection)
                row = connection.execute(_FACTS).fetchone()
        assert row is not None
        database = re.sub(r"[^\w.-]", "_", row["database"])
        cell = f"-cell{row['cell']}" if row["cell"] else ""
        return f"pgrecall-{database}{cell}", (now or row["now"]).astimezone(UTC)

    def _files(self, name: str, end: str = "") -> list[Path]:
        """This database's backups, oldest first; with an end those that were never completed."""
        part = r"\.[0-9a-f]{8}" + re.escape(end) if end else ""
        form = re.compile(rf"{re.escape(name)}-\d{{8}}T\d{{6}}Z\.dump{part}")
        return sorted(path for path in self.folder.iterdir() if form.fullmatch(path.name) and path.is_file())
