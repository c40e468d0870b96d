"""What ranking needs on any corpus: more features of relevance, and one more mode of weighing use."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

FEATURES = ("token_similarity", "no_token_similarity", "session_coverage", "period")

MODES = "vitality_mode IN ('odds', 'unbounded', 'multiply', 'bounded', 'off')"


def upgrade() -> None:
    for name in FEATURES:
        op.add_column(
            "relevance_model",
            sa.Column(name, sa.Double(), nullable=False, server_default=sa.text("0")),
            schema="recall",
        )
    op.drop_constraint("relevance_model_mode_check", "relevance_model", schema="recall")
    op.create_check_constraint("relevance_model_mode_check", "relevance_model", MODES, schema="recall")
