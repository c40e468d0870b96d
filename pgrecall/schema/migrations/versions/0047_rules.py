"""Conditions on rows are constraints, which guard every writer; a question may be half of a memory."""

from pathlib import Path

from pgrecall.schema.added_rules import add_rules

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_rules(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
