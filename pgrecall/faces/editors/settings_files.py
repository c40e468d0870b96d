"""Changing one entry in an editor's settings file, in JSON or TOML, and nothing else in it."""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pgrecall.errors import InvalidInput
from pgrecall.faces.editors import jsonc

Document = dict[str, Any]
_MAX_BYTES = 50_000_000
_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file: its content when read, and its new content.

    Attributes:
        text: the new content.
        before: the content when read; None if there was no file.
        mark: the byte order mark at its beginning, which some editors of Windows write.
        keeps_copy: whether to keep a copy of the content when read.
        is_original: whether ``text`` is the content before pgrecall first changed the file: the kept copy, or
            no file if there is no copy.
    """

    path: Path
    text: str
    before: str | None
    mark: str = ""
    keeps_copy: bool = True
    is_original: bool = False

    @classmethod
    def read(cls, path: Path) -> SettingsFile:
        """Reads a file; links are followed, so that the file they point to is changed.

        Raises:
            InvalidInput: it cannot be read, or is not UTF-8.
        """
        try:
            real = path.resolve()
            if real.exists() and not (real.is_file() or real.is_dir()):
                # A pipe would never end, and a device would be replaced by a file.
                raise InvalidInput(
                    f"{path} is not a file.", hint="Change it by hand; --print shows the entry."
                )
            if real.exists() and real.stat().st_size > _MAX_BYTES:
                raise InvalidInput(f"{path} has more than {_MAX_BYTES:,} bytes.", hint="Change it by hand.")
            read = real.read_bytes().decode() if real.exists() else None
            before = read.removeprefix(_MARK) if read is not None else None
            return cls(real, before or "", before, _MARK if read != before else "")
        except (OSError, UnicodeDecodeError, RuntimeError) as error:
            reasons = {UnicodeDecodeError: "it is not UTF-8", RuntimeError: "its links lead in a circle"}
            reason = error.strerror if isinstance(error, OSError) else reasons[type(error)]
            raise InvalidInput(f"{path} cannot be read: {reason}.") from error

    @property
    def is_toml(self) -> bool:
        """Whether it is TOML and not JSON."""
        return self.path.suffix == ".toml"

    def document(self) -> Document:
        """Its content; in JSON, comments and trailing commas are passed over, as editors do.

        Raises:
            InvalidInput: it is not valid, or is not an object.
        """
        try:
            found = tomllib.loads(self.text) if self.is_toml else jsonc.parse(self.text).value
        except (ValueError, RecursionError) as error:
            kind = "TOML" if self.is_toml else "JSON"
            raise InvalidInput(
                f"{self.path} is not {kind}: {str(error).rstrip('.')}.",
                hint="Correct it, or add the entry by hand; --print shows it.",
            ) from error
        if not isinstance(found, dict):
            raise InvalidInput(f"{self.path} is not a JSON object.", hint="Correct it.")
        return found

    def with_entry(self, table: str, name: str, entry: Mapping[str, Any] | None) -> SettingsFile:
        """The file with ``table.name`` set to this entry, or without it if that is None.

        Raises:
            InvalidInput: the file is not valid, its table is not an object, or it is TOML in a form that
                cannot be changed without touching the rest.
        """
        before = self.document()
        servers = before.get(table, {})
        if not isinstance(servers, dict):
            raise InvalidInput(f"{table} in {self.path} is not an object.", hint="Correct it.")
        if entry is None and name not in servers:
            return self
        # An entry that is there keeps its place.
        after = servers | {name: dict(entry)} if entry is not None else without(servers, name)
        changed = before | {table: after} if after else without(before, table)
        return self._with_toml(table, name, entry, changed) if self.is_toml else self.with_document(changed)

    def with_document(self, document: Document) -> SettingsFile:
        """The JSON file with another content. Unchanged parts keep their form and comments.

        Raises:
            InvalidInput: a list that has to be replaced has comments inside.
        """
        if document == self.document():
            return self
        try:
            changed = replace(self, text=jsonc.changed(self.text, document))
        except jsonc.CommentsInside as error:
            raise InvalidInput(
                f"{self.path} has comments inside {error}, which would be lost.",
                hint="Move the comments, or change the file by hand.",
            ) from error
        if not changed._holds(document):
            raise InvalidInput(f"{self.path} cannot be changed safely.", hint="Change it by hand.")
        return changed

    def _with_toml(
        self, table: str, name: str, entry: Mapping[str, Any] | None, after: Document
    ) -> SettingsFile:
        """Rewrites the lines of this entry's tables; comments elsewhere stay."""
        own = re.compile(rf"^\[\s*{re.escape(table)}\s*\.\s*\"?{re.escape(name)}\"?\s*(\.[^\]]*)?\]")
        kept, inside = [], False
        newline = "\r\n" if "\r\n" in self.text else "\n"
        for line in self.text.split(newline):
            if line.lstrip().startswith("["):
                inside = own.match(line.strip()) is not None
            if not inside:
                kept.append(line)
        text = newline.join(kept).rstrip()
        if entry is not None:
            own_text = toml_entry(table, name, entry).replace("\n", newline)
            text = f"{text}{newline}{newline}{own_text}".lstrip()
        changed = replace(self, text=text.rstrip() + newline)
        if not changed._holds(after):
            raise InvalidInput(
                f"{table}.{name} in {self.path} has a form that cannot be changed safely.",
                hint="Change it by hand; --print shows the entry.",
            )
        return changed

    def _holds(self, document: Document) -> bool:
        try:
            return self.document() == document
        except InvalidInput:
            return False

    def require_writable(self) -> None:
        """Raises InvalidInput if the file is read-only, because whatever made it so would overwrite the
        change."""
        if self.before is not None and not self.path.stat().st_mode & stat.S_IWUSR:
            raise InvalidInput(
                f"{self.path} is read-only.",
                hint="Make it writable, or change it by hand; --print shows the entry.",
            )

    @property
    def copy(self) -> Path:
        """The path of the copy of the file before pgrecall changed it."""
        return self.path.with_name(f"{self.path.name}.before-pgrecall")

    def original(self) -> SettingsFile:
        """Returns the content before pgrecall first changed the file, to write it again.

        Raises:
            InvalidInput: the copy cannot be read.
        """
        kept = SettingsFile.read(self.copy)
        return replace(self, text=kept.text, mark=kept.mark, is_original=True)

    def write(self, top: Path) -> str:
        """Writes the file whole or not at all; returns what was done, as a sentence.

        Args:
            top: the home directory or project. Folders below it that a removed file leaves empty are removed.

        Raises:
            InvalidInput: it cannot be written.
        """
        if SettingsFile.read(self.path).before != self.before:
            raise InvalidInput(f"{self.path} has just been changed by another program.", hint="Try again.")
        try:
            if self.is_original:
                return self._write_original(top)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            like = self.path if self.before is not None else None
            copied = like is not None and self.keeps_copy
            if copied:
                _write(self.copy, self.mark + (self.before or ""), like=self.path)
            _write(self.path, self.mark + self.text, like=like)
        except OSError as error:
            raise InvalidInput(f"{self.path} cannot be written: {error.strerror}.") from error
        return f"Changed {self.path}" + (f"; the copy from before is {self.copy.name}." if copied else ".")

    def _write_original(self, top: Path) -> str:
        if self.copy.exists():
            _write(self.path, self.mark + self.text, like=self.path)
            self.copy.unlink()
            return f"Restored {self.path} as it was before."
        self.path.unlink()
        for folder in self.path.parents:
            if top.resolve() not in folder.parents or any(folder.iterdir()):
                break
            folder.rmdir()
        return f"Removed {self.path}, which connect had created."


def without(values: Mapping[str, Any], name: str) -> Document:
    """A copy without this name."""
    return {key: value for key, value in values.items() if key != name}


def toml_entry(table: str, name: str, entry: Mapping[str, Any]) -> str:
    """An entry as TOML tables; strings of JSON are strings of TOML."""
    lines = [f"[{table}.{name}]"]
    lines += [f"{key} = {_toml(value)}" for key, value in entry.items() if not isinstance(value, Mapping)]
    for key, value in entry.items():
        if isinstance(value, Mapping):
            lines += [
                "",
                f"[{table}.{name}.{key}]",
                *(f"{one} = {_toml(each)}" for one, each in value.items()),
            ]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write(path: Path, text: str, *, like: Path | None) -> None:
    """Writes a file next to the target and renames it. A new file is private, because it may hold secrets."""
    mode = like.stat().st_mode & 0o777 if like is not None else 0o600
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
