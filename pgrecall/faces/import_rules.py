"""What an importer is told of the time and of the tenant it imports into, and of the projects of sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from pgrecall.errors import InvalidInput
from pgrecall.faces.note_folder import Items
from pgrecall.importers.detect import BY_SESSION, KnownKind
from pgrecall.importers.fields import Rules
from pgrecall.importers.projects import with_projects
from pgrecall.nouns.layers.models import Layer


def import_rules(layers: Iterable[Layer], wanted: str | None = None, now: datetime | None = None) -> Rules:
    """The rules for an import.

    Args:
        layers: those of the tenant.
        wanted: the layer that the caller chose for what is imported.
        now: the time of the import; None: that of the clock.

    Raises:
        InvalidInput: the tenant has no such layer.
    """
    names = frozenset(layer.name for layer in layers)
    if wanted is not None and wanted not in names:
        raise InvalidInput(
            f"There is no layer {wanted!r:.100}.", hint=f"The layers are {', '.join(sorted(names))}."
        )
    return Rules(now or datetime.now(UTC), names)


def in_projects(read: Callable[..., Items], kind: KnownKind, project: str | None) -> Callable[..., Items]:
    """Reads the turns of chats with the projects of their sessions.

    Args:
        project: that of sessions that name no folder.

    Raises:
        InvalidInput: there is one for anything but chats.
    """
    if kind in (*BY_SESSION, "chat"):
        return lambda **options: with_projects(read(**options), project)
    if project is not None:
        raise InvalidInput(f"Only chats have a project, not {kind}.", hint="Leave out --project.")
    return read
