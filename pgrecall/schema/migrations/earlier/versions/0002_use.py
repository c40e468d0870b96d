"""Use: a partitioned access log that is folded, and histories by which a past instant can be told."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# Their results or arguments changed, which CREATE OR REPLACE cannot do; one statement, for some need others.
OUTDATED = (
    "recall.vitality_terms(recall.activation, boolean, timestamptz)",
    "recall.activation_sum(recall.activation, double precision)",
    "recall.stretch(int)",
    "recall.spread_now(double precision, double precision)",
    "recall.revival(double precision, double precision)",
    "recall.zone_of(double precision)",
    "recall.retention_of(double precision, boolean)",
    "recall.layers_of(text)",
    "recall.parse_accesses(text, jsonb, timestamptz)",
    "recall.store_cut_sizes(bigint[], int[])",
)


def upgrade() -> None:
    # Without CASCADE: what a user hung on one of them stops the upgrade with a sentence, unharmed.
    op.execute("DROP FUNCTION IF EXISTS " + ", ".join(OUTDATED))
    _types()
    _activation_and_layers()
    _access_log()
    _histories()


def _types() -> None:
    op.execute(
        "CREATE TYPE recall.weights AS ("
        "spread_weight double precision, spread_half_life_days double precision, "
        "revival_weight double precision, revival_rate double precision, revival_days double precision, "
        "stretch_per_link double precision, stretch_links double precision, "
        "protection_floor double precision)"
    )
    op.execute(
        "CREATE TYPE recall.layer_in_force AS ("
        "name text, clock double precision, decay double precision, birth_weight double precision, "
        "active double precision, stale double precision, fading double precision, "
        "median_base double precision)"
    )


def _activation_and_layers() -> None:
    op.add_column("activation", sa.Column("folded_until", sa.DateTime(timezone=True)), schema="recall")
    # Up to the last event, which may be a mere part of an access, later than the newest whole one.
    op.execute(
        "UPDATE recall.activation a SET folded_until = greatest(to_timestamp(a.t1), ("
        "SELECT max(e.at) FROM recall.access e WHERE e.tenant = a.tenant AND e.memory_id = a.memory_id))"
    )
    op.alter_column("activation", "folded_until", nullable=False, schema="recall")
    op.add_column(
        "activation",
        sa.Column("sessions", sa.Double(), server_default=sa.text("0"), nullable=False),
        schema="recall",
    )
    op.add_column("activation", sa.Column("sessions_at", sa.Double()), schema="recall")
    op.create_check_constraint(
        "activation_credit_check", "activation", "credit >= 0 AND credit < 1", schema="recall"
    )
    for name, bound in (("active", "0.6"), ("stale", "0.3"), ("fading", "0.1")):
        op.add_column(
            "layer",
            sa.Column(name, sa.Double(), server_default=sa.text(bound), nullable=False),
            schema="recall",
        )
    op.create_check_constraint(
        "layer_zones_check",
        "layer",
        "1 > active AND active > stale AND stale > fading AND fading > 0",
        schema="recall",
    )
    op.add_column("link", sa.Column("strengthened_at", sa.DateTime(timezone=True)), schema="recall")
    op.create_index(
        "memory_state_idx",
        "memory",
        ["tenant", "id"],
        schema="recall",
        postgresql_include=["layer", "pinned", "archived_at"],
    )
    op.create_index(
        "memory_expires_at_idx",
        "memory",
        ["tenant", "expires_at"],
        schema="recall",
        postgresql_where=sa.text("expires_at IS NOT NULL"),
    )


def _access_log() -> None:
    """The log becomes partitioned; everything in it is folded anew, for bursts now count once."""
    op.execute("CREATE TEMP TABLE access_0001 ON COMMIT DROP AS SELECT * FROM recall.access")
    op.drop_table("access", schema="recall")
    op.execute("CREATE SEQUENCE recall.access_id_seq")
    op.create_table(
        "access",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column(
            "id",
            sa.BigInteger(),
            server_default=sa.text("nextval('recall.access_id_seq'::regclass)"),
            nullable=False,
        ),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("weight", sa.Double(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("session_id", sa.Text()),
        sa.Column("recorded_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("spread_to", pg.ARRAY(sa.BigInteger())),
        sa.Column("spread_by", pg.ARRAY(sa.Double())),
        sa.CheckConstraint(
            "kind IN ('write', 'read', 'reference', 'used', 'retrieval')", name="access_kind_check"
        ),
        sa.CheckConstraint("weight BETWEEN 0 AND 100", name="access_weight_check"),
        sa.PrimaryKeyConstraint("tenant", "id", "recorded_at", name="access_pkey"),
        schema="recall",
        postgresql_partition_by="RANGE (recorded_at)",
    )
    op.execute("CREATE TABLE recall.access_default PARTITION OF recall.access DEFAULT")
    op.create_index("access_memory_idx", "access", ["tenant", "memory_id", "at"], schema="recall")
    op.create_index(
        "access_session_idx",
        "access",
        ["tenant", "session_id", "at"],
        schema="recall",
        postgresql_where=sa.text("session_id IS NOT NULL"),
    )
    op.create_table(
        "access_queue",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("memory_ids", pg.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", name="access_queue_pkey"),
        schema="recall",
    )
    op.create_table(
        "access_key",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "idempotency_key", name="access_key_pkey"),
        schema="recall",
    )
    op.execute(
        "INSERT INTO recall.access (tenant, memory_id, kind, weight, at, session_id, recorded_at) "
        "SELECT tenant, memory_id, kind, weight, at, session_id, recorded_at FROM access_0001 "
        "ORDER BY tenant, id"
    )
    op.execute(
        "INSERT INTO recall.access_key (tenant, idempotency_key, memory_id) "
        "SELECT tenant, idempotency_key, memory_id FROM access_0001 "
        "WHERE idempotency_key IS NOT NULL"
    )
    op.execute(
        "INSERT INTO recall.access_queue (tenant, memory_ids, at) "
        "SELECT tenant, array_agg(memory_id), '-infinity' FROM recall.activation "
        "GROUP BY tenant, memory_id / 1000"
    )


def _histories() -> None:
    op.create_table(
        "archival",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("plan_id", sa.BigInteger()),
        sa.Column("restored_at", sa.DateTime(timezone=True)),
        sa.CheckConstraint("reason IN ('forgotten', 'pruned', 'expired')", name="archival_reason_check"),
        sa.CheckConstraint("(plan_id IS NOT NULL) = (reason = 'pruned')", name="archival_plan_check"),
        _owned("archival_memory_fkey", "memory_id"),
        sa.PrimaryKeyConstraint("tenant", "id", name="archival_pkey"),
        schema="recall",
    )
    op.create_index(
        "archival_current_idx",
        "archival",
        ["tenant", "memory_id"],
        unique=True,
        schema="recall",
        postgresql_where=sa.text("restored_at IS NULL"),
    )
    op.create_index("archival_memory_idx", "archival", ["tenant", "memory_id"], schema="recall")
    op.execute(
        "INSERT INTO recall.archival (tenant, memory_id, archived_at, reason) "
        "SELECT tenant, id, archived_at, 'forgotten' FROM recall.memory WHERE archived_at IS NOT NULL"
    )
    op.create_table(
        "link_history",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("src", sa.BigInteger(), nullable=False),
        sa.Column("dst", sa.BigInteger(), nullable=False),
        sa.Column("relation", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=False),
        _owned("link_history_src_fkey", "src"),
        _owned("link_history_dst_fkey", "dst"),
        sa.PrimaryKeyConstraint("tenant", "id", name="link_history_pkey"),
        schema="recall",
    )
    op.create_index("link_history_src_idx", "link_history", ["tenant", "src"], schema="recall")
    op.create_index("link_history_dst_idx", "link_history", ["tenant", "dst"], schema="recall")
    op.create_table(
        "floor_change",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("floored", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", name="floor_change_pkey"),
        schema="recall",
    )
    op.create_index("floor_change_memory_idx", "floor_change", ["tenant", "memory_id", "at"], schema="recall")
    op.execute(
        "INSERT INTO recall.floor_change (tenant, memory_id, at, floored) "
        "SELECT m.tenant, m.id, m.created_at, true FROM recall.memory m "
        "JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id "
        "WHERE m.pinned OR a.protected"
    )


def _owned(name: str, column: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant", column],
        ["recall.memory.tenant", "recall.memory.id"],
        name=name,
        ondelete="CASCADE",
    )
