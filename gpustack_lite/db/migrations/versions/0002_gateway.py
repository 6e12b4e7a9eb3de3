"""What the gateway serves by: limits, public names, sleep, budgets, files and batches."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_NO = sa.false()
_YES = sa.true()
_EMPTY_OBJECT = sa.text("'{}'")


def upgrade() -> None:
    _widen()
    _routes_and_spending()
    _files_and_batches()


def _widen() -> None:
    op.add_column("users", sa.Column("limits", sa.JSON(), nullable=True))
    op.add_column("api_keys", sa.Column("enabled", sa.Boolean(), nullable=False, server_default=_YES))
    op.add_column("api_keys", sa.Column("limits", sa.JSON(), nullable=True))
    op.add_column("api_keys", sa.Column("weight", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("models", sa.Column("serving", sa.JSON(), nullable=False, server_default=_EMPTY_OBJECT))
    op.add_column("models", sa.Column("asleep", sa.Boolean(), nullable=False, server_default=_NO))
    op.add_column("models", sa.Column("used_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("instances", sa.Column("stuck_attempt", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("workers", sa.Column("device_reserve_bytes", sa.BigInteger(), nullable=True))
    op.add_column("workers", sa.Column("disk_free_bytes", sa.BigInteger(), nullable=True))
    op.add_column("workers", sa.Column("drained", sa.Boolean(), nullable=False, server_default=_NO))
    op.add_column("devices", sa.Column("group", sa.String(), nullable=True))
    op.add_column("devices", sa.Column("numa", sa.Integer(), nullable=True))
    op.add_column("devices", sa.Column("unified_memory", sa.Boolean(), nullable=False, server_default=_NO))
    op.add_column("gateways", sa.Column("queued", sa.JSON(), nullable=False, server_default=_EMPTY_OBJECT))
    op.add_column("usage", sa.Column("public_name", sa.String(), nullable=True))
    op.add_column("usage", sa.Column("is_stream", sa.Boolean(), nullable=False, server_default=_NO))
    op.add_column("usage", sa.Column("queued_seconds", sa.Float(), nullable=True))
    op.add_column("usage", sa.Column("audio_seconds", sa.Float(), nullable=True))
    op.add_column("usage", sa.Column("images", sa.Integer(), nullable=True))
    op.add_column("usage", sa.Column("shown_id", sa.String(), nullable=True))
    op.add_column("usage", sa.Column("worker", sa.String(), nullable=True))
    op.create_index("usage_by_user", "usage", ["user_id", "started_at"])
    op.create_index("usage_by_shown_id", "usage", ["shown_id"])
    _daily()


def _daily() -> None:
    counts = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "images")
    op.create_table(
        "usage_daily",
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("key_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in counts),
        sa.Column("audio_seconds", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("day", "model", "key_id", "user_id"),
    )


def _routes_and_spending() -> None:
    op.create_table(
        "model_routes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("targets", sa.JSON(), nullable=False),
        sa.Column("fallback", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_model_routes_name"), "model_routes", ["name"], unique=True)
    op.create_table(
        "spending",
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("period", sa.String(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("subject", "period"),
    )


def _files_and_batches() -> None:
    op.create_table(
        "files",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("key_id", sa.Integer(), nullable=True),
        sa.Column("filename", sa.String(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_files_user_id"), "files", ["user_id"], unique=False)
    op.create_table(
        "batches",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("key_id", sa.Integer(), nullable=True),
        sa.Column("endpoint", sa.String(), nullable=False),
        sa.Column("input_file_id", sa.String(), nullable=False),
        sa.Column("output_file_id", sa.String(), nullable=True),
        sa.Column("error_file_id", sa.String(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("lines", sa.Integer(), nullable=False),
        sa.Column("lines_done", sa.Integer(), nullable=False),
        sa.Column("completed", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("errors", sa.JSON(), nullable=False),
        sa.Column("notes", sa.JSON(), nullable=True),
        sa.Column("output_expires_seconds", sa.Float(), nullable=True),
        sa.Column("digest", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_batches_user_id"), "batches", ["user_id"], unique=False)
