"""The experiment and the arm of a logged search, by which randomised weights of vitality are compared."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

ARM = (
    "num_nulls(experiment, arm, arm_weight) IN (0, 3) AND coalesce(experiment >= 1, true) "
    "AND coalesce(arm IN ('off', 'default', 'other'), true) AND coalesce(arm_weight BETWEEN 0 AND 10, true)"
)


def upgrade() -> None:
    op.add_column("search_log", sa.Column("experiment", sa.BigInteger()), schema="recall")
    op.add_column("search_log", sa.Column("arm", sa.Text()), schema="recall")
    op.add_column("search_log", sa.Column("arm_weight", sa.Double()), schema="recall")
    op.create_check_constraint("search_log_arm_check", "search_log", ARM, schema="recall")
    op.create_index(
        "search_log_experiment_idx",
        "search_log",
        ["tenant", "experiment", "at"],
        schema="recall",
        postgresql_where=sa.text("experiment IS NOT NULL"),
    )
