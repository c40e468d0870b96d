"""What a search is asked as one value: its filters, and everything else; metadata can be looked up."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TYPE recall.search_filter AS ("
        "layers text[], roles text[], authors text[], tags text[], sources text[], metadata jsonb, hints text[], "
        "since timestamptz, until timestamptz, include_archived boolean, include_superseded boolean, "
        "include_invalid boolean, as_of timestamptz, "
        # What follows is not asked, but follows from it.
        "moment timestamptz, terms tsquery, archived_as_of boolean, superseded_as_of boolean)"
    )
    op.execute(
        "CREATE TYPE recall.search_request AS ("
        "query text, queries text[], cues jsonb, session_id text, k int, min_relevance double precision, "
        "profile text, weights jsonb, vitality_mode text, vitality_weight double precision, explain boolean)"
    )
    op.create_index(
        "memory_metadata_idx", "memory", [sa.text("(ARRAY[tenant])"), "metadata"], schema="recall",
        postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"},
        postgresql_where=sa.text("metadata <> '{}'"),
    )  # fmt: skip
