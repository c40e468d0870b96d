"""What ranking needs on any corpus: more features of relevance, and the signs of the tokens of memories."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

FEATURES = ("token_similarity", "no_token_similarity", "session_coverage", "period")


def upgrade() -> None:
    for name in FEATURES:
        op.add_column(
            "relevance_model",
            sa.Column(name, sa.Double(), nullable=False, server_default=sa.text("0")),
            schema="recall",
        )
    for name in ("session_coverage", "token_similarity"):
        op.execute(f"ALTER TYPE recall.evidence ADD ATTRIBUTE {name} double precision")
    op.create_table(
        "token_signs",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("signs", postgresql.ARRAY(postgresql.BIT(varying=True)), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "memory_id", name="token_signs_pkey"),
        sa.ForeignKeyConstraint(
            ["tenant", "memory_id"], ["recall.memory.tenant", "recall.memory.id"],
            name="token_signs_memory_fkey", ondelete="CASCADE",
        ),
        schema="recall",
    )  # fmt: skip
