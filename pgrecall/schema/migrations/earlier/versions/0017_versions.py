"""What memories said before they were changed, and a log of what changed."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _memory_version()
    _memory_change()
    # Here, for the first writer of an era makes all others wait; see recall.change_era.
    op.execute(
        "INSERT INTO recall.setting (tenant, name, value) SELECT '*', 'changes.era', jsonb_build_object("
        "'era', 1, 'server', c.system_identifier || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8)) "
        "FROM pg_control_system() c"
    )
    op.add_column("activation", sa.Column("zone", sa.Text()), schema="recall")
    op.create_check_constraint(
        "activation_zone_check", "activation", "zone IN ('active', 'stale', 'fading', 'dormant')",
        schema="recall",
    )  # fmt: skip


def _memory_version() -> None:
    op.create_table(
        "memory_version",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("role", sa.Text()),
        sa.Column("author", sa.Text()),
        sa.Column("tags", pg.ARRAY(sa.Text()), nullable=False, server_default=sa.text("'{}'")),
        sa.Column("aliases", pg.ARRAY(sa.Text()), nullable=False, server_default=sa.text("'{}'")),
        sa.Column("metadata", pg.JSONB(), nullable=False, server_default=sa.text("'{}'")),
        sa.Column("occurred_at", sa.DateTime(timezone=True)),
        sa.Column("valid_from", sa.DateTime(timezone=True)),
        sa.Column("valid_until", sa.DateTime(timezone=True)),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("written_by", sa.Text()),
        sa.Column("written_through", sa.Text()),
        sa.Column("replaced_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("replaced_by", sa.Text(), nullable=False),
        sa.Column("replaced_through", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "memory_id", "number", name="memory_version_pkey"),
        sa.ForeignKeyConstraint(
            ["tenant", "memory_id"], ["recall.memory.tenant", "recall.memory.id"],
            name="memory_version_memory_fkey", ondelete="CASCADE",
        ),
        sa.CheckConstraint("number >= 1", name="memory_version_number_check"),
        sa.CheckConstraint("title <> '' OR body <> ''", name="memory_version_text_check"),
        sa.CheckConstraint(
            "length(title) <= 1000 AND length(body) <= 1000000", name="memory_version_length_check"
        ),
        sa.CheckConstraint(
            "role IN ('user', 'assistant', 'system', 'tool')", name="memory_version_role_check"
        ),
        sa.CheckConstraint("valid_from <= valid_until", name="memory_version_validity_check"),
        sa.CheckConstraint("written_at <= replaced_at", name="memory_version_times_check"),
        schema="recall",
    )  # fmt: skip
    # Nothing plans by these, and the statistics of a table that is empty again would keep texts.
    for column in ("title", "body", "author", "tags", "aliases", "metadata"):
        op.execute(f"ALTER TABLE recall.memory_version ALTER COLUMN {column} SET STATISTICS 0")


def _memory_change() -> None:
    op.create_table(
        "memory_change",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("era", sa.Integer(), nullable=False),
        sa.Column(
            "xid", sa.BigInteger(), nullable=False,
            server_default=sa.text("pg_current_xact_id()::text::bigint"),
        ),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("memory_id", sa.BigInteger()),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("zone", sa.Text()),
        sa.Column("other_id", sa.BigInteger()),
        sa.PrimaryKeyConstraint("tenant", "era", "xid", "id", name="memory_change_pkey"),
        sa.CheckConstraint("(memory_id IS NULL) = (kind = 'expired')", name="memory_change_memory_check"),
        sa.CheckConstraint("length(kind) BETWEEN 1 AND 40", name="memory_change_kind_check"),
        schema="recall",
    )  # fmt: skip
    op.create_index("memory_change_memory_idx", "memory_change", ["tenant", "memory_id"], schema="recall")
