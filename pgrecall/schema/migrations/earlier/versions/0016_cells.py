"""Cells: which tenants live in this database, and where those live that have moved."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "resident",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False, server_default=sa.text("'here'")),
        sa.Column("cell", sa.BigInteger()),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False, server_default=sa.text("now()")),
        sa.PrimaryKeyConstraint("tenant", name="resident_pkey"),
        sa.CheckConstraint(
            "(state = 'here' AND cell IS NULL) OR state = 'moving' OR (state = 'gone' AND cell IS NOT NULL)",
            name="resident_state_check",
        ),
        schema="recall",
    )
