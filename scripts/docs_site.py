"""A hook of `make docs`: links that leave docs lead to the repository, which pyproject.toml names.

The comment above a generated page is left out, because the site names a page after its first line.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    folder = (DOCS / page.file.src_uri).parent

    def led(link: re.Match[str]) -> str:
        target = (folder / link[1]).resolve()
        if target.is_relative_to(DOCS):
            return link[0]
        return f"]({REPOSITORY}/blob/main/{target.relative_to(ROOT).as_posix()}"

    return re.sub(r"\]\((\.\./[^)#]*)", led, re.sub(r"\A<!--.*?-->\n", "", markdown))
