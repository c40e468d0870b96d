"""What ranking needs on any corpus: more features of relevance, one more mode of weighing use, and searches that
return nothing without an answer."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

FEATURES = ("token_similarity", "no_token_similarity", "session_coverage", "period")

MODES = "vitality_mode IN ('odds', 'unbounded', 'multiply', 'bounded', 'off')"


def upgrade() -> None:
    op.execute("ALTER TYPE recall.search_request ADD ATTRIBUTE require_answer boolean")
    for name in FEATURES:
        op.add_column(
            "relevance_model",
            sa.Column(name, sa.Double(), nullable=False, server_default=sa.text("0")),
            schema="recall",
        )
    op.execute(
        # The period that a query names; open on a side that is NULL. `fade` seconds beyond it, it counts half.
        "CREATE TYPE recall.period AS (since timestamptz, until timestamptz, fade double precision, words text)"
    )
    op.execute("ALTER TYPE recall.evidence ADD ATTRIBUTE period double precision")
    op.drop_constraint("relevance_model_mode_check", "relevance_model", schema="recall")
    op.create_check_constraint("relevance_model_mode_check", "relevance_model", MODES, schema="recall")
    op.add_column("lexeme", sa.Column("body_length", sa.Double()), schema="recall")
    op.execute("ALTER TYPE recall.question ADD ATTRIBUTE body_length double precision")
    op.execute("ALTER TYPE recall.evidence ADD ATTRIBUTE session_coverage double precision")
