"""What the arms of a search find, as one value between its two steps."""

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TYPE recall.gathered AS ("
        "ids bigint[], near bigint[], similarities double precision[], far bigint[], "
        "far_similarities double precision[], held bigint[], strengths double precision[], named bigint[], "
        "linked bigint[], seeds bigint[], shares double precision[], questions bigint[], answers bigint[], "
        "past recall.activation[], typical double precision, trust double precision)"
    )
