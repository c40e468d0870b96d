"""What ranking needs on any corpus: more features of relevance."""

import sqlalchemy as sa
from alembic import op

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
    op.execute("ALTER TYPE recall.evidence ADD ATTRIBUTE session_coverage double precision")
