"""Alembic's entry for the revisions up to the baseline: that of the later ones."""

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).parents[1] / "env.py"))
