"""The arm of an experiment that a logged search was ranked by."""

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass
