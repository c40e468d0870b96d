"""The filters of searches and lists, as the fields of a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgrecall.arguments import FilterOptions
from pgrecall.encoding import parse_metadata
from pgrecall.faces.page.form_fields import checkbox, list_field, text_field, time_field

FILTER_FIELDS = (
    "layer",
    "tags",
    "author",
    "source",
    "metadata",
    "since",
    "until",
    "archived",
    "superseded",
)


def read_filters(query: Mapping[str, str]) -> FilterOptions:
    """The filters that a query sets.

    Raises:
        InvalidInput: a date or the metadata cannot be read.
    """
    layer, source, metadata = (text_field(query, name) for name in ("layer", "source", "metadata"))
    return {
        "layers": None if layer is None else (layer,),
        "tags": list_field(query, "tags"),
        "authors": list_field(query, "author"),
        "sources": None if source is None else (source,),
        "metadata": parse_metadata([metadata] if metadata else None),
        "since": time_field(query, "since"),
        "until": time_field(query, "until"),
        "include_archived": checkbox(query, "archived"),
        "include_superseded": checkbox(query, "superseded"),
    }


def shown_filters(fields: Mapping[str, Any]) -> list[str]:
    """The names of the filters that are set."""
    return [name for name in FILTER_FIELDS if fields.get(name)]
