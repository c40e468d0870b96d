"""``memory.settings``: the settings and the language of a tenant."""

from __future__ import annotations

from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.declared import declared
from pgrecall.nouns.settings import operations
from pgrecall.nouns.settings.models import Languages, Setting


class AsyncSettingsGroup(AsyncGroup):
    """The numbers that a tenant can tune, and its language. ``configuration`` has the settings of the
    client."""

    @declared("settings", "GET /v1/settings")
    async def list(self) -> tuple[Setting, ...]:
        """Lists every setting: its value for this tenant, where that comes from, default, bounds and meaning.

        Returns:
            The settings.
        """
        return await self._connection.execute(operations.settings())

    @declared("set_setting", "PUT /v1/settings/{name}", repeatable=True)
    async def set(self, name: str, value: float) -> Setting:
        """Sets a setting for this tenant.

        Args:
            name: the name of the setting.
            value: the number, within the bounds of the setting.

        Returns:
            The setting.

        Raises:
            InvalidInput: there is no such setting, or the value is out of its bounds.
        """
        await self._connection.execute(operations.set_setting(name, value))
        return next(setting for setting in await self.list() if setting.name == name)

    @declared("reset_setting", "DELETE /v1/settings/{name}", repeatable=True)
    async def reset(self, name: str) -> Setting:
        """Removes this tenant's own value, so that the database's or the default applies again.

        Args:
            name: the name of the setting.

        Returns:
            The setting.

        Raises:
            InvalidInput: there is no such setting.
        """
        await self._connection.execute(operations.set_setting(name, None))
        return next(setting for setting in await self.list() if setting.name == name)

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
