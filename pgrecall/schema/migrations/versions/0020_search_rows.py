"""Rows made for reading: what a search needs of a candidate or a tenant, in one place."""

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass
