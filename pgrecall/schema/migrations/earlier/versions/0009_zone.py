"""The zone of a memory is no longer kept beside its vitality, from which it follows with the layer and the floor."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_column("activation", "zone", schema="recall")
