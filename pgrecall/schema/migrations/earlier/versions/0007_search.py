"""What a search needs to read little: the few memories that may be hidden, and the few links that contradict."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

HIDEABLE = (
    "superseded_by IS NOT NULL OR valid_from IS NOT NULL OR valid_until IS NOT NULL OR expires_at IS NOT NULL"
)


def upgrade() -> None:
    op.create_index(
        "memory_hideable_idx", "memory", ["tenant", "id"], schema="recall", postgresql_where=sa.text(HIDEABLE)
    )
    for end, other in (("src", "dst"), ("dst", "src")):
        op.create_index(
            f"link_contradicts_{end}_idx", "link", ["tenant", end, other], schema="recall",
            postgresql_where=sa.text("relation = 'contradicts'"),
        )  # fmt: skip
    op.execute(
        "CREATE TYPE recall.evidence AS ("
        "semantic_rank bigint, lexical_rank bigint, similarity double precision, coverage double precision, "
        "strength double precision, phrase int, likeness double precision, named_alone boolean, authored int, "
        "cue double precision, cued_by bigint, seed bigint, share double precision, own_logit double precision)"
    )
