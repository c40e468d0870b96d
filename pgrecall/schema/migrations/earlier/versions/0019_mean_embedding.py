"""The mean vector of a tenant's memories, from which a search knows how similar any text there is to its query."""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("lexeme", sa.Column("mean_embedding", HALFVEC()), schema="recall")
    op.add_column("lexeme", sa.Column("mean_embedder", sa.Text()), schema="recall")
    op.create_check_constraint(
        "lexeme_mean_check", "lexeme", "(mean_embedding IS NULL) = (mean_embedder IS NULL)", schema="recall"
    )
    op.execute("ALTER TYPE recall.evidence ADD ATTRIBUTE typical_similarity double precision")
