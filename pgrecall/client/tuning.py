"""Layers, settings and language: how fast what is remembered fades, and what else a tenant chooses."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Unpack

from pgrecall import operations
from pgrecall.client.driver import Driver

if TYPE_CHECKING:
    from pgrecall.arguments import LayerFields
    from pgrecall.models.layers import Languages, Layer, Setting
    from pgrecall.vitality.parameters import Preset


class Tuning(Driver):
    """What a tenant can set. Its own values win over the database's, these over the defaults."""

    def layers(self) -> tuple[Layer, ...]:
        """Every layer this tenant can use, by name."""
        return self._run(operations.layers.layers())

    def set_layer(self, name: str, *, now: datetime | None = None, **fields: Unpack[LayerFields]) -> int:
        """Makes or changes this tenant's own layer; what is not given stays, or is a new layer's default.

        Its memories age by the new rates from the moment they were stored; a birth weight counts for
        memories stored from now on. Returns how many memories age differently.

        Raises:
            InvalidInput: the name, a rate or a threshold cannot be; nothing was changed.
        """
        return self._run(operations.layers.set_layer(name, {**fields}, now))

    def drop_layer(self, name: str, *, now: datetime | None = None) -> bool:
        """Takes this tenant's own layer away, so that the database's applies again; False without one.

        Raises:
            InvalidInput: no such layer; or memories are in it and the database has none of that name.
        """
        return self._run(operations.layers.drop_layer(name, now))

    def use_preset(self, name: Preset, *, now: datetime | None = None) -> int:
        """Makes the layers of a preset this tenant's, and the settings that go with it.

        Returns how many memories age differently. ``pgrecall.vitality.PRESETS`` has what each preset holds.

        Raises:
            InvalidInput: there is no such preset.
        """
        return self._run(operations.layers.use_preset(name, now))

    def tuning(self) -> tuple[Setting, ...]:
        """Every setting with the value in force for this tenant, by name."""
        return self._run(operations.settings.settings())

    def configure(self, name: str, value: float | None) -> None:
        """Gives a setting a value for this tenant; None takes the tenant's own value away again.

        Raises:
            InvalidInput: there is no such setting, or the value is out of its bounds.
        """
        return self._run(operations.settings.configure(name, value))

    def languages(self) -> Languages:
        """The language this tenant's memories and questions are read in, and those it could be."""
        return self._run(operations.settings.languages())

    def set_language(self, name: str) -> int:
        """Makes this the tenant's language: its memories are read in it anew, and its words counted again.

        Nothing else can be stored for this tenant meanwhile. Returns how many memories were read anew.

        Raises:
            InvalidInput: the server has no such language; those it has are named.
        """
        return self._run(operations.settings.set_language(name))
