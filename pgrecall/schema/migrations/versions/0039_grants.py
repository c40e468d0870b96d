"""Grants of OAuth, each made with a key; only digests of their tokens are stored."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "oauth_grant",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.BigInteger(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("access", sa.LargeBinary()),
        sa.Column("access_ends_at", sa.DateTime(timezone=True)),
        sa.Column("terms", pg.JSONB(), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "digest", name="oauth_grant_pkey"),
        sa.ForeignKeyConstraint(
            ["tenant", "key_id"], ["recall.api_key.tenant", "recall.api_key.id"],
            name="oauth_grant_key_fkey", ondelete="CASCADE",
        ),
        schema="recall",
    )  # fmt: skip
    op.create_index("oauth_grant_digest_idx", "oauth_grant", ["digest"], unique=True, schema="recall")
    op.create_index("oauth_grant_key_idx", "oauth_grant", ["tenant", "key_id", "ends_at"], schema="recall")
