"""``memory.settings``: the settings and the language of a tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.settings import operations

if TYPE_CHECKING:
    from pgrecall.nouns.settings.models import Languages, Setting


class AsyncSettingsGroup(AsyncGroup):
    """The numbers that a tenant can tune, and its language. ``configuration`` has the settings of the
    client."""

    async def list(self) -> tuple[Setting, ...]:
        """Lists every setting with the value in force for this tenant, by name.

        Returns:
            The settings.
        """
        return await self._connection.execute(operations.settings())

    async def set(self, name: str, value: float) -> None:
        """Sets a value for this tenant.

        Args:
            name: the name of the setting.
            value: the number.

        Raises:
            InvalidInput: there is no such setting, or the value is out of its bounds.
        """
        await self._connection.execute(operations.set_setting(name, value))

    async def reset(self, name: str) -> None:
        """Removes this tenant's own value, so that the database's or the default applies again.

        Args:
            name: the name of the setting.

        Raises:
            InvalidInput: there is no such setting.
        """
        await self._connection.execute(operations.set_setting(name, None))

    async def languages(self) -> Languages:
        """Returns the language of this tenant's memories and queries, and the available ones."""
        return await self._connection.execute(operations.languages())

    async def set_language(self, name: str) -> int:
        """Sets the tenant's language; its memories are indexed again, and its words are counted again.
        Nothing else can be stored for this tenant meanwhile.

        Args:
            name: the name of the language, such as ``german``.

        Returns:
            How many memories were indexed again.

        Raises:
            InvalidInput: the server has no such language; the error names those it has.
        """
        return await self._connection.execute(operations.set_language(name))
