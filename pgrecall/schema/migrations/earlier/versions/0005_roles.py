"""Which login role acts for which tenant, and the salt of locks. Rights are applied anew at every upgrade."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tenant_role",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("bound_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("tenant <> ''", name="tenant_role_tenant_check"),
        sa.PrimaryKeyConstraint("tenant", "role", name="tenant_role_pkey"),
        schema="recall",
    )
    op.create_index("tenant_role_role_idx", "tenant_role", ["role"], unique=True, schema="recall")
    op.execute(
        "INSERT INTO recall.setting (tenant, name, value) SELECT '*', 'lock.salt', "
        "to_jsonb((('x' || substr(md5(gen_random_uuid()::text), 1, 16))::bit(64)::bigint)::text)"
    )
