"""Routes for layers and settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path

from pgrecall import AsyncMemory
from pgrecall.arguments import LayerFields
from pgrecall.faces.http.authentication import TenantMemory
from pgrecall.faces.http.request_handling import ApiRoute
from pgrecall.faces.http.schemas import (
    Body,
    Changed,
    Counted,
    NowField,
    OptionalTimestamp,
    response_list,
    response_model,
)
from pgrecall.nouns.layers.models import Layer
from pgrecall.nouns.settings.models import Setting
from pgrecall.vitality.parameters import Preset

router = APIRouter(prefix="/v1", route_class=ApiRoute)


@dataclass(frozen=True, slots=True)
class SettingValue:
    """The value of a setting.

    Attributes:
        value: the value to set, within the bounds of the setting.
    """

    value: float


LayerName = Annotated[str, Path(description="The name of the layer.", max_length=200)]
LayerBody = Annotated[dict[str, Any], Body(LayerFields, NowField, name="LayerBody")]
SettingName = Annotated[str, Path(description="The name of the setting.", max_length=200)]


@router.get("/layers", response_model=response_list(Layer), tags=["layers"])
async def layers(memory: TenantMemory) -> tuple[Layer, ...]:
    """List the layers that this tenant can use, by name."""
    return await memory.layers.list()


@router.put("/layers/{layer}", response_model=response_model(Counted), tags=["layers"])
async def set_layer(memory: TenantMemory, layer: LayerName, body: LayerBody) -> Counted:
    """Create or change this tenant's layer; counts the memories whose vitality changes with it."""
    return Counted(await memory.layers.set(layer, **body))


@router.delete("/layers/{layer}", response_model=response_model(Changed), tags=["layers"])
async def drop_layer(memory: TenantMemory, layer: LayerName, now: OptionalTimestamp = None) -> Changed:
    """Drop this tenant's layer, so that the database's layer of this name applies again."""
    return Changed(await memory.layers.drop(layer, now=now))


@router.put("/layers/presets/{preset}", response_model=response_model(Counted), tags=["layers"])
async def use_preset(
    memory: TenantMemory,
    preset: Annotated[Preset, Path(description="The preset.")],
    now: OptionalTimestamp = None,
) -> Counted:
    """Set this tenant's layers to a preset; counts the memories whose vitality changes with them."""
    return Counted(await memory.layers.use_preset(preset, now=now))


@router.get("/settings", response_model=response_list(Setting), tags=["settings"])
async def settings(memory: TenantMemory) -> tuple[Setting, ...]:
    """List all settings with the values that apply to this tenant, by name."""
    return await memory.settings.list()


@router.put("/settings/{setting}", response_model=response_model(Setting), tags=["settings"])
async def set_setting(
    memory: TenantMemory, setting: SettingName, body: Annotated[SettingValue, Body(SettingValue)]
) -> Setting:
    """Set a setting for this tenant; returns the setting."""
    await memory.settings.set(setting, body.value)
    return await _setting(memory, setting)


@router.delete("/settings/{setting}", response_model=response_model(Setting), tags=["settings"])
async def reset_setting(memory: TenantMemory, setting: SettingName) -> Setting:
    """Remove this tenant's value, so that the database's applies again; returns the setting."""
    await memory.settings.reset(setting)
    return await _setting(memory, setting)


async def _setting(memory: AsyncMemory, name: str) -> Setting:
    return next(setting for setting in await memory.settings.list() if setting.name == name)
