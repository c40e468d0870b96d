"""What a memory says: its speech act, by which a search tells directives and questions from statements."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """What stored memories say is found out when the functions are there, at the end of the upgrade."""
    op.add_column("memory", sa.Column("speech_act", sa.Text()), schema="recall")
    op.add_column(
        "memory",
        sa.Column("act_marked", sa.Boolean(), nullable=False, server_default=sa.text("false")),
        schema="recall",
    )
    op.create_check_constraint(
        "memory_act_check",
        "memory",
        "speech_act IN ('statement', 'question', 'acknowledgement', 'instruction', 'preference')",
        schema="recall",
    )
    op.create_index(
        "memory_directives_idx", "memory", ["tenant", sa.text("happened_at DESC"), "id"], schema="recall",
        postgresql_where=sa.text("speech_act IN ('instruction', 'preference') AND archived_at IS NULL"),
    )  # fmt: skip
    op.create_index(
        "memory_without_act_idx", "memory", ["tenant", "id"], schema="recall",
        postgresql_where=sa.text("speech_act IS NULL"),
    )  # fmt: skip
    for name in ("question", "speaker"):
        op.add_column(
            "relevance_model",
            sa.Column(name, sa.Double(), nullable=False, server_default=sa.text("0")),
            schema="recall",
        )
    op.execute(
        "CREATE TYPE recall.query_intent AS ("
        "seeks text, speaker text, about_questions boolean, about_past boolean, needs_context boolean)"
    )
    for attribute in (
        "speech_act text", "question int", "speaker int", "word_trust double precision",
        "asked bigint", "lent_by_question double precision", "directive double precision",
    ):  # fmt: skip
        op.execute(f"ALTER TYPE recall.evidence ADD ATTRIBUTE {attribute}")
    op.execute("ALTER TYPE recall.search_filter ADD ATTRIBUTE speech_acts text[]")
