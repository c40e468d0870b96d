"""What pyproject.toml cannot say: the README of a package index, with links that lead to the repository."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
REPOSITORY = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
README = (HERE / "README.md").read_text(encoding="utf-8")

setup(
    long_description=re.sub(r"^(\[[\w-]+\]: )(?!https?:)", rf"\1{REPOSITORY}/blob/main/", README, flags=re.M),
    long_description_content_type="text/markdown",
)
