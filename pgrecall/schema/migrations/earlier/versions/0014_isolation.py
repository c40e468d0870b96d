"""Locks that only the owner of the schema can hold, indexes apart by tenant; sessions and erasures."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


SAME_WORDS = r"hashtextextended(lower(regexp_replace(left(body, 4000), '\W+', ' ', 'g')), 0)"

FUNCTIONS = (
    # trigram_signature: the trigrams of a name without accents, each as one of 256 bits.
    "CREATE FUNCTION recall.trigram_signature(p_name text) RETURNS bit(256) "
    "LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$ "
    "DECLARE v_bits bit(256) := 0::bit(256); v_trigram text; "
    "BEGIN FOREACH v_trigram IN ARRAY show_trgm(recall.plain(p_name)) LOOP "
    "v_bits := set_bit(v_bits, get_byte(decode(md5(v_trigram), 'hex'), 0), 1); "
    "END LOOP; RETURN v_bits; END $$",
    # tenant_trigrams: the trigrams of a text, each with the mark of the tenant before it. In one expression, for this
    # is called for every word that is counted.
    "CREATE FUNCTION recall.tenant_trigrams(p_tenant text, p_text text) RETURNS tsvector "
    "LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$ "
    "BEGIN RETURN array_to_tsvector(string_to_array(recall.tenant_mark(p_tenant) || array_to_string("
    "show_trgm(p_text), chr(1) || recall.tenant_mark(p_tenant)), chr(1))); END $$",
)


def upgrade() -> None:
    op.create_index("memory_same_words_idx", "memory", ["tenant", sa.text(SAME_WORDS)], schema="recall")
    _locks()
    _indexes()
    _page_session()
    _erasure()


def _indexes() -> None:
    for function in FUNCTIONS:
        op.execute(function)
    op.drop_index("name_trigram_idx", "name", schema="recall")
    op.add_column(
        "name",
        sa.Column(
            "signature",
            pg.BIT(256),
            sa.Computed("recall.trigram_signature(name)", persisted=True),
            nullable=False,
        ),
        schema="recall",
    )
    op.create_index(
        "name_signature_idx", "name", ["tenant"], schema="recall",
        postgresql_include=["signature", "memory_id"], postgresql_where=sa.text("entity"),
    )  # fmt: skip
    op.drop_index("lexeme_trigram_idx", "lexeme", schema="recall")
    op.create_index(
        "lexeme_trigram_idx", "lexeme", [sa.literal_column("recall.tenant_trigrams(tenant, word)")],
        schema="recall", postgresql_using="gin", postgresql_with={"fastupdate": "off"},
    )  # fmt: skip
    # Nothing plans by it, and to gather statistics would take each trigram of a sample.
    op.execute("ALTER INDEX recall.lexeme_trigram_idx ALTER COLUMN 1 SET STATISTICS 0")
    # The path of a value is part of what is indexed of it, so each value is led by the tenant.
    op.drop_index("memory_metadata_idx", "memory", schema="recall")
    op.create_index(
        "memory_metadata_idx", "memory",
        [sa.literal_column("jsonb_set('{}', ARRAY[tenant], metadata)").label("led")], schema="recall",
        postgresql_using="gin", postgresql_with={"fastupdate": "off"},
        postgresql_ops={"led": "jsonb_path_ops"}, postgresql_where=sa.text("metadata <> '{}'"),
    )  # fmt: skip
    op.execute("ALTER INDEX recall.memory_metadata_idx ALTER COLUMN 1 SET STATISTICS 0")


def _locks() -> None:
    op.create_table(
        "tenant_lock",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "purpose", name="tenant_lock_pkey"),
        schema="recall",
    )
    op.execute(
        "INSERT INTO recall.tenant_lock (tenant, purpose) "
        "SELECT t.tenant, p.purpose FROM ("
        "SELECT DISTINCT m.tenant FROM recall.memory m UNION SELECT r.tenant FROM recall.tenant_role r) t "
        "CROSS JOIN unnest(ARRAY['rules', 'vectors']) p(purpose) WHERE t.tenant <> '*' "
        "UNION ALL SELECT '*', p.purpose || ' ' || n "
        "FROM unnest(ARRAY['rules', 'vectors']) p(purpose), generate_series(0, 63) n"
    )
    op.execute("DELETE FROM recall.setting s WHERE s.tenant = '*' AND s.name = 'lock.salt'")
    for name, kind in (
        ("holder_pid", sa.Integer()),
        ("holder_role", pg.OID()),
        ("holder_key", sa.BigInteger()),
    ):
        op.add_column("job_run", sa.Column(name, kind), schema="recall")


def _page_session() -> None:
    op.create_table(
        "page_session",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "digest", name="page_session_pkey"),
        sa.ForeignKeyConstraint(
            ["tenant", "key_id"], ["recall.api_key.tenant", "recall.api_key.id"],
            name="page_session_key_fkey", ondelete="CASCADE",
        ),
        schema="recall",
    )  # fmt: skip
    op.create_index("page_session_digest_idx", "page_session", ["digest"], unique=True, schema="recall")
    op.create_index("page_session_key_idx", "page_session", ["tenant", "key_id", "ends_at"], schema="recall")


def _erasure() -> None:
    op.create_table(
        "erasure",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False, server_default=sa.text("'planned'")),
        sa.Column("subject", pg.JSONB(), nullable=False),
        sa.Column("asked_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("planned", sa.BigInteger(), nullable=False),
        sa.Column("counts", pg.JSONB(), nullable=False, server_default=sa.text("'{}'")),
        sa.Column("report", pg.JSONB()),
        sa.Column("digest", sa.Text()),
        sa.PrimaryKeyConstraint("tenant", "id", name="erasure_pkey"),
        sa.CheckConstraint("state IN ('planned', 'begun', 'done')", name="erasure_state_check"),
        sa.CheckConstraint(
            "(report IS NOT NULL) = (state = 'done') AND (digest IS NOT NULL) = (state = 'done')",
            name="erasure_report_check",
        ),
        schema="recall",
    )
    op.create_table(
        "erasure_item",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("erasure_id", sa.BigInteger(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "erasure_id", "memory_id", name="erasure_item_pkey"),
        sa.ForeignKeyConstraint(
            ["tenant", "erasure_id"], ["recall.erasure.tenant", "recall.erasure.id"],
            name="erasure_item_erasure_fkey", ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant", "memory_id"], ["recall.memory.tenant", "recall.memory.id"],
            name="erasure_item_memory_fkey", ondelete="CASCADE",
        ),
        schema="recall",
    )  # fmt: skip
    op.create_index("erasure_item_memory_idx", "erasure_item", ["tenant", "memory_id"], schema="recall")
