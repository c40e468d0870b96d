"""``memory.layers`` and ``memory.settings``: how fast memories fade, and the settings of a tenant."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Unpack

from pgrecall.client._async.group import AsyncGroup
from pgrecall.operations import layers

if TYPE_CHECKING:
    from pgrecall.arguments import LayerFields
    from pgrecall.models.layers import Languages, Layer, Setting
    from pgrecall.vitality.parameters import Preset


class AsyncLayersGroup(AsyncGroup):
    """The layers of a tenant. Its own rates take precedence over the database's, and these over the
    defaults."""

    async def list(self) -> tuple[Layer, ...]:
        """Lists every layer this tenant can use, by name.

        Returns:
            The layers with their rates and zones, and where each is defined.
        """
        return await self._connection.execute(layers.layers())

    async def set(self, name: str, *, now: datetime | None = None, **fields: Unpack[LayerFields]) -> int:
        """Creates or changes this tenant's own layer. A field that is not given keeps its value.

        The new rates apply to its memories from the time they were stored. A new birth weight applies to
        memories stored from now on.

        Args:
            name: the layer.
            now: time to use instead of the database's clock.
            fields: those of :class:`LayerFields`.

        Returns:
            How many memories now age differently.

        Raises:
            InvalidInput: the name, a rate or a threshold is invalid. Nothing was changed.
        """
        return await self._connection.execute(layers.set_layer(name, {**fields}, now))

    async def drop(self, name: str, *, now: datetime | None = None) -> bool:
        """Removes this tenant's own layer, so that the database's applies again.

        Args:
            name: the layer.
            now: time to use instead of the database's clock.

        Returns:
            Whether the tenant had a layer of its own.

        Raises:
            InvalidInput: there is no such layer; or it has memories and is not in the database.
        """
        return await self._connection.execute(layers.drop_layer(name, now))

    async def use_preset(self, name: Preset, *, now: datetime | None = None) -> int:
        """Sets the layers and settings of this tenant to those of a preset.

        Args:
            name: one of ``pgrecall.vitality.parameters.PRESETS``.
            now: time to use instead of the database's clock.

        Returns:
            How many memories now age differently.

        Raises:
            InvalidInput: there is no such preset.
        """
        return await self._connection.execute(layers.use_preset(name, now))


class AsyncSettingsGroup(AsyncGroup):
    """The numbers that a tenant can tune, and its language. ``configuration`` has the settings of the
    client."""

    async def list(self) -> tuple[Setting, ...]:
        """Lists every setting with the value in force for this tenant, by name.

        Returns:
            The settings.
        """
        return await self._connection.execute(layers.settings())

    async def set(self, name: str, value: float) -> None:
        """Sets a value for this tenant.

        Args:
            name: the name of the setting.
            value: the number.

        Raises:
            InvalidInput: there is no such setting, or the value is out of its bounds.
        """
        await self._connection.execute(layers.set_setting(name, value))

    async def reset(self, name: str) -> None:
        """Removes this tenant's own value, so that the database's or the default applies again.

        Args:
            name: the name of the setting.

        Raises:
            InvalidInput: there is no such setting.
        """
        await self._connection.execute(layers.set_setting(name, None))

    async def languages(self) -> Languages:
        """Returns the language of this tenant's memories and queries, and the available ones."""
        return await self._connection.execute(layers.languages())

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
        return await self._connection.execute(layers.set_language(name))
