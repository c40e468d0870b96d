"""``memory.layers``: how fast memories fade."""

from __future__ import annotations

from datetime import datetime
from typing import Unpack

from pgrecall.arguments import LayerFields
from pgrecall.client._async.group import AsyncGroup
from pgrecall.nouns.declared import declared
from pgrecall.nouns.layers import operations
from pgrecall.nouns.layers.models import Layer
from pgrecall.vitality.parameters import Preset


class AsyncLayersGroup(AsyncGroup):
    """The layers of a tenant. Its own rates take precedence over the database's, and these over the
    defaults."""

    @declared("layers", "GET /v1/layers")
    async def list(self) -> tuple[Layer, ...]:
        """Lists the layers that this tenant can use, by name, and how fast each forgets.

        Returns:
            The layers with their rates and zones, and where each is defined.
        """
        return await self._connection.execute(operations.layers())

    @declared("set_layer", "PUT /v1/layers/{name}", repeatable=True)
    async def set(self, name: str, *, now: datetime | None = None, **fields: Unpack[LayerFields]) -> int:
        """Creates or changes a layer of this tenant. What is not given stays as it is.

        The new rates apply to its memories from the time they were stored. A new birth weight applies to
        memories stored from now on.

        Args:
            name: the name of the layer.
            now: time to use instead of the database's clock.
            fields: those of :class:`LayerFields`.

        Returns:
            How many memories now age differently.

        Raises:
            InvalidInput: the name, a rate or a threshold is invalid. Nothing was changed.
        """
        return await self._connection.execute(operations.set_layer(name, {**fields}, now))

    @declared("drop_layer", "DELETE /v1/layers/{name}")
    async def drop(self, name: str, *, now: datetime | None = None) -> bool:
        """Drops this tenant's own layer, so that the database's applies again.

        Args:
            name: the name of the layer.
            now: time to use instead of the database's clock.

        Returns:
            Whether the tenant had a layer of its own.

        Raises:
            InvalidInput: there is no such layer; or it has memories and is not in the database.
        """
        return await self._connection.execute(operations.drop_layer(name, now))

    @declared("use_preset", "PUT /v1/layers/presets/{name}", repeatable=True)
    async def use_preset(self, name: Preset, *, now: datetime | None = None) -> int:
        """Sets this tenant's layers and settings to those of a preset; its other layers stay as they are.

        Args:
            name: the preset.
            now: time to use instead of the database's clock.

        Returns:
            How many memories now age differently.

        Raises:
            InvalidInput: there is no such preset.
        """
        return await self._connection.execute(operations.use_preset(name, now))
