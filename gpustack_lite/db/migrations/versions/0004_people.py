"""Groups, who may use which model, keys that rotate, sessions that slide, the audit log, sealed secrets, and revisions of models."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _people()
    _access()
    _audit()
    _secrets()


def _people() -> None:
    op.add_column("users", sa.Column("source", sa.String(), nullable=False, server_default="local"))
    op.add_column("users", sa.Column("subject", sa.String(), nullable=True))
    op.add_column("users", sa.Column("last_login_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("api_keys", sa.Column("previous_digest", sa.String(), nullable=True))
    op.add_column("api_keys", sa.Column("previous_until", sa.DateTime(timezone=True), nullable=True))
    op.create_index(op.f("ix_api_keys_previous_digest"), "api_keys", ["previous_digest"])
    op.add_column("sessions", sa.Column("seen_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("sessions", sa.Column("user_agent", sa.String(), nullable=True))
    op.create_table(
        "groups",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("limits", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_groups_name"), "groups", ["name"], unique=True)
    op.create_table(
        "group_members",
        sa.Column("group_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("group_id", "user_id"),
    )


def _access() -> None:
    op.add_column("models", sa.Column("access", sa.JSON(), nullable=True))
    for decision in ("trust_remote_code", "allow_pickle"):
        op.add_column("models", sa.Column(decision, sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("model_routes", sa.Column("access", sa.JSON(), nullable=True))
    op.create_table(
        "model_revisions",
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(), nullable=True),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("model_id", "generation"),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor_id", sa.Integer(), nullable=True),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("carrier", sa.String(), nullable=False),
        sa.Column("credential_id", sa.Integer(), nullable=True),
        sa.Column("address", sa.String(), nullable=True),
        sa.Column("request_id", sa.String(), nullable=True),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("object_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("before", sa.JSON(), nullable=True),
        sa.Column("after", sa.JSON(), nullable=True),
        sa.Column("digest", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("audit_by_time", "audit", ["at"])
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("trimmed", sa.BigInteger(), nullable=False),
        sa.Column("anchor", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def _secrets() -> None:
    op.create_table(
        "sealed_secrets",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("sealed", sa.String(), nullable=False),
        sa.Column("ending", sa.String(), nullable=True),
        sa.Column("set_by", sa.String(), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
