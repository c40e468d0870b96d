"""What a service needs beyond the operations it serves: keys, the schema's state, figures of the database."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pgrecall import operations
from pgrecall.client.driver import Driver

if TYPE_CHECKING:
    from pgrecall.models.keys import ApiKey, IssuedKey, KeyHolder
    from pgrecall.models.service import Caller, Census, SchemaStamp


class Serving(Driver):
    """Keys of a tenant, and the database as whoever runs a service sees it."""

    def create_key(self, name: str, *, now: datetime | None = None) -> IssuedKey:
        """Makes a key that acts for this tenant. Its secret is in the result, and nowhere else ever.

        Raises:
            InvalidInput: the name is empty or longer than 200 characters.
        """
        return self._run(operations.keys.create_key(name, now))

    def revoke_key(self, key: int, *, now: datetime | None = None) -> bool:
        """Makes a key useless from this moment on, for good; False when it was revoked before.

        Raises:
            InvalidInput: this tenant has no such key.
        """
        return self._run(operations.keys.revoke_key(key, now))

    def api_keys(self) -> tuple[ApiKey, ...]:
        """This tenant's keys, newest first, the revoked ones too."""
        return self._run(operations.keys.keys())

    def any_key(self) -> bool:
        """Whether any tenant of this database has a key that is not revoked."""
        return self._run(operations.keys.any_key())

    def key_holder(self, secret: str, *, now: datetime | None = None) -> KeyHolder | None:
        """Whom a key acts for, of whatever tenant it is; None when it is unknown or revoked."""
        return self._run(operations.keys.holder_of_key(secret, now))

    def schema_state(self) -> SchemaStamp:
        """The schema this database has now; an upgrade may have changed it since this client was opened."""
        return self._run(operations.service.schema_state())

    def caller(self) -> Caller:
        """The role this client logs in as, whose memories it acts for, and what it may do."""
        return self._run(operations.service.caller())

    def census(self) -> Census:
        """Figures of all tenants together. It reads every memory."""
        return self._run(operations.service.census())
