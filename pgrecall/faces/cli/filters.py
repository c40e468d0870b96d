"""What every command that looks for memories can be narrowed by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pgrecall.faces.cli.command_line import Option
from pgrecall.faces.cli.values import parse_metadata, parse_since, parse_until, texts

Many = list[str] | None
InvalidToo = Annotated[bool, Option("--include-invalid", help="Also what is not valid yet, or no more.")]
LeastRelevance = Annotated[float, Option(help="Leave out what is less relevant; 0 to 1.")]


@dataclass(frozen=True)
class Filters:
    """Options of a command: of which layers, tags, authors, roles and times memories are."""

    layer: Annotated[Many, Option(help="Only of this layer; may be repeated.")] = None
    tag: Annotated[Many, Option(help="Only with this tag; repeated: with all of them.")] = None
    author: Annotated[Many, Option(help="Only by this author; may be repeated.")] = None
    role: Annotated[Many, Option(help="Only of this role; may be repeated.")] = None
    source: Annotated[Many, Option(help="Only from this source; may be repeated.")] = None
    metadata: Annotated[
        Many, Option(help="Only with this metadata: KEY=VALUE or a JSON object; repeated: with all of it.")
    ] = None
    since: Annotated[str | None, Option(help="From this date on, or 7d, 2w, 6m, 1y ago.")] = None
    until: Annotated[str | None, Option(help="Up to this date, the day included.")] = None
    include_archived: Annotated[
        bool, Option("--include-archived", help="Also what was archived or forgotten.")
    ] = False

    def read(self, now: datetime) -> dict[str, Any]:
        """The arguments of a client's method; what was given of time is counted from ``now``.

        Raises:
            InvalidInput: one of them cannot be used.
        """
        return {
            "since": parse_since(self.since, now),
            "until": parse_until(self.until, now),
            "layers": texts(self.layer, "--layer"),
            "tags": texts(self.tag, "--tag"),
            "authors": texts(self.author, "--author"),
            "roles": texts(self.role, "--role"),
            "sources": texts(self.source, "--source"),
            "metadata": parse_metadata(self.metadata),
            "include_archived": self.include_archived,
        }


NONE = Filters()
