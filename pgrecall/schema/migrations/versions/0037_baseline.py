"""The schema of a new installation, as the revisions in ``earlier`` leave an upgraded one."""

from pathlib import Path

from alembic import context, op

from pgrecall.schema.roles import run_statement

revision = "0037"
down_revision = None
branch_labels = None
depends_on = None

MAX_COVERED = 1250


def upgrade() -> None:
    dimensions = context.config.attributes["dimensions"]
    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    sql = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    run_statement(
        driver,
        sql.replace("{dimensions}", str(dimensions)).replace(
            "{covered}", "INCLUDE (embedding)" if dimensions <= MAX_COVERED else ""
        ),
    )
