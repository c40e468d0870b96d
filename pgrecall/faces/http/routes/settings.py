"""Routes of what can be tuned: layers and settings."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path

from pgrecall.arguments import LayerFields
from pgrecall.faces.http.bodies import Changed, Counted, Moment, SettingChange
from pgrecall.faces.http.request_guard import GuardedRoute
from pgrecall.faces.http.routes.parameters import Mine
from pgrecall.faces.http.schemas import At, Given, shown, shown_many
from pgrecall.models.layers import Layer, Setting
from pgrecall.vitality.parameters import Preset

router = APIRouter(prefix="/v1", route_class=GuardedRoute, tags=["tuning"])

LayerName = Annotated[str, Path(description="The name of the layer.", max_length=200)]
LayerChange = Annotated[dict[str, Any], Given(LayerFields, Moment, name="LayerChange")]


@router.get("/layers", response_model=shown_many(Layer))
async def layers(memory: Mine) -> tuple[Layer, ...]:
    """Every layer this tenant can use, by name."""
    return await memory.layers.list()


@router.put("/layers/{layer}", response_model=shown(Counted))
async def set_layer(memory: Mine, layer: LayerName, change: LayerChange) -> Counted:
    """Make or change this tenant's own layer; counts the memories that age differently now."""
    return Counted(await memory.layers.set(layer, **change))


@router.delete("/layers/{layer}", response_model=shown(Changed))
async def drop_layer(memory: Mine, layer: LayerName, now: At = None) -> Changed:
    """Take this tenant's own layer away, so that the database's applies again."""
    return Changed(await memory.layers.drop(layer, now=now))


@router.put("/preset/{preset}", response_model=shown(Counted))
async def use_preset(
    memory: Mine, preset: Annotated[Preset, Path(description="The preset.")], now: At = None
) -> Counted:
    """Make the layers of a preset this tenant's; counts the memories that age differently now."""
    return Counted(await memory.layers.use_preset(preset, now=now))


@router.get("/settings", response_model=shown_many(Setting))
async def settings(memory: Mine) -> tuple[Setting, ...]:
    """Every setting with the value in force for this tenant, by name."""
    return await memory.settings.list()


@router.put("/settings/{setting}", response_model=shown(Setting))
async def configure(
    memory: Mine,
    setting: Annotated[str, Path(description="The name of the setting.", max_length=200)],
    change: Annotated[SettingChange, Given(SettingChange)],
) -> Setting:
    """Give a setting a value for this tenant, or take the tenant's own away; the setting as it is then."""
    if change.value is None:
        await memory.settings.reset(setting)
    else:
        await memory.settings.set(setting, change.value)
    return next(entry for entry in await memory.settings.list() if entry.name == setting)
