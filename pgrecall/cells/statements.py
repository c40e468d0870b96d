"""SQL statements of this package: in files, each after a line with its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files


def named_statements(file: str) -> Mapping[str, str]:
    """The statements of an SQL file of this package, by the name in the line ``-- name: NAME`` above each."""
    text = (files(__package__) / file).read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    return {name: sql[: sql.index(";")] for name, sql in zip(parts[1::2], parts[2::2], strict=True)}
