"""Statements that something changed, which go before what they change."""

from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

_ACTS = "'statement', 'question', 'acknowledgement', 'instruction', 'preference', 'change'"


def upgrade() -> None:
    """Which stored statements are changes is found out when the functions are there, at the end of the upgrade."""
    op.execute(
        "ALTER TABLE recall.memory DROP CONSTRAINT memory_act_check, "
        f"ADD CONSTRAINT memory_act_check CHECK (speech_act IN ({_ACTS}))"
    )
    op.execute("ALTER TYPE recall.query_intent ADD ATTRIBUTE in_past boolean")
    op.execute("DROP TRIGGER IF EXISTS memory_act_updated ON recall.memory")  # made again with the functions
    op.execute(
        "UPDATE recall.memory SET speech_act = NULL WHERE speech_act = 'statement' AND NOT act_marked AND title = '' "
        "AND length(body) <= 300 AND role IS DISTINCT FROM 'assistant'"
    )
