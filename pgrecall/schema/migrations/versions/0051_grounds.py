"""What an explanation is computed from is handed out as two composite values.

A client reads their binary format, so that a search writes none of their numbers as text.
"""

from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TYPE recall.hit_ground AS ("
        "place integer, found recall.evidence, held integer, logit double precision, log_odds double precision, "
        "placed double precision, floored boolean, layer recall.layer_in_force, accesses recall.activation)"
    )
    op.execute(
        "CREATE TYPE recall.search_ground AS ("
        "now double precision, window_only boolean, mode text, weight double precision, "
        "model recall.relevance_model, arms double precision[], author double precision, weights recall.weights, "
        "queries text[], analyzed recall.analyzed_query[], periods recall.period[])"
    )
