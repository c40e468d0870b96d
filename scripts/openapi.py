"""Writes what the TypeScript client takes from here: the OpenAPI document, the methods that the Python client
declares, and what package.json repeats.

    python -m scripts.openapi            writes openapi.json, types, methods, version and address
    python -m scripts.openapi --check    exits with 1 where one of them is out of date

The document comes from the application itself, without a database. The types need node and `npm ci` in
clients/typescript; without these, only the rest is written or checked, and the command says so.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from pgrecall import __version__
from scripts.reference.http_page import document
from scripts.typescript_methods import declared_ts

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "clients" / "typescript"
TYPES = "src/openapi.ts"
_GENERATOR = CLIENT / "node_modules" / ".bin" / "openapi-typescript"
_OPTIONS = ("--default-non-nullable=false", "--immutable")


def main() -> None:
    check = "--check" in sys.argv[1:]
    found = texts()
    wrong = [name for name, text in found.items() if _held(name) != text]
    if not check:
        for name in wrong:
            (CLIENT / name).write_text(found[name], encoding="utf-8")
    if not _GENERATOR.exists():
        sys.stderr.write(f"{TYPES} is left out: run `npm ci` in clients/typescript first.\n")
    elif not generate(check=check):
        wrong.append(TYPES)
    if check and wrong:
        sys.exit(f"Out of date: {', '.join(wrong)} in clients/typescript. Run python -m scripts.openapi.")


def texts() -> dict[str, str]:
    """What each file that needs no node has to say."""
    types = (CLIENT / "src" / "types.ts").read_text(encoding="utf-8")
    found = {
        "openapi.json": json.dumps(document(), indent=1, ensure_ascii=False) + "\n",
        "src/declared.ts": declared_ts(types),
    }
    for name in ("package.json", "package-lock.json"):
        text = (CLIENT / name).read_text(encoding="utf-8")
        # The package's own version comes first; in the lock file it is there once more, under its name.
        times = 1 if name == "package.json" else 2
        text = re.sub(r'"version": "[^"]*"', f'"version": "{__version__}"', text, count=times)
        found[name] = re.sub(r'"url": "git\+[^"]*"', f'"url": "git+{repository()}.git"', text)
    return found


def _held(name: str) -> str | None:
    file = CLIENT / name
    return file.read_text(encoding="utf-8") if file.exists() else None


def repository() -> str:
    """The address of the repository, which pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["urls"]["Repository"])


def generate(*, check: bool) -> bool:
    """Writes the types of the document that is there, or tells whether they are up to date."""
    command = [str(_GENERATOR), "openapi.json", "--output", TYPES, *_OPTIONS, *(["--check"] if check else [])]
    done = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=False)
    if done.returncode and not check:
        sys.exit(done.stderr or done.stdout)
    return done.returncode == 0


if __name__ == "__main__":
    main()
