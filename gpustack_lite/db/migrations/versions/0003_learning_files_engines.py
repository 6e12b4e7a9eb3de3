"""What placement learns and follows, model files, engine versions, and what workers say of their tools and devices."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_NO = sa.false()
_EMPTY_OBJECT = sa.text("'{}'")
_EMPTY_LIST = sa.text("'[]'")


def upgrade() -> None:
    _learning()
    _autoscale()
    _devices()
    _model_files()
    _engine_versions()
    _rebalances()
    _members()


def _rebalances() -> None:
    op.add_column("instances", sa.Column("replaces", sa.Integer(), nullable=True))
    op.create_table(
        "rebalances",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("model_name", sa.String(), nullable=False),
        sa.Column("moves", sa.JSON(), nullable=False),
        sa.Column("place", sa.JSON(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("said", sa.JSON(), nullable=True),
        sa.Column("created_by", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )


def _members() -> None:
    op.add_column("instances", sa.Column("worker_count", sa.Integer(), nullable=False, server_default=sa.text("1")))
    op.add_column("instances", sa.Column("members", sa.JSON(), nullable=False, server_default=_EMPTY_LIST))
    op.add_column("instances", sa.Column("round", sa.Integer(), nullable=False, server_default=sa.text("1")))


def _learning() -> None:
    op.add_column("instances", sa.Column("measured", sa.JSON(), nullable=True))
    op.add_column("instances", sa.Column("measurement_key", sa.String(), nullable=True))
    op.create_table(
        "measurements",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("source_digest", sa.String(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("measured", sa.JSON(), nullable=False),
        sa.Column("besides_cache_bytes", sa.BigInteger(), nullable=True),
        sa.Column("too_little_bytes", sa.BigInteger(), nullable=False),
        sa.Column("too_little_ram_bytes", sa.BigInteger(), nullable=False),
        sa.Column("measured_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index("ix_measurements_source_digest", "measurements", ["source_digest"])


def _autoscale() -> None:
    op.add_column("models", sa.Column("autoscale", sa.JSON(), nullable=True))


def _devices() -> None:
    op.add_column("workers", sa.Column("host", sa.JSON(), nullable=False, server_default=_EMPTY_OBJECT))
    op.add_column("workers", sa.Column("tools", sa.JSON(), nullable=False, server_default=_EMPTY_LIST))
    op.add_column("devices", sa.Column("compute_capability", sa.String(), nullable=True))
    op.add_column("devices", sa.Column("error_codes", sa.JSON(), nullable=False, server_default=_EMPTY_LIST))
    op.add_column("devices", sa.Column("processes", sa.JSON(), nullable=False, server_default=_EMPTY_LIST))
    op.add_column("devices", sa.Column("fault", sa.JSON(), nullable=True))
    op.add_column("devices", sa.Column("cordoned", sa.Boolean(), nullable=False, server_default=_NO))
    op.add_column("devices", sa.Column("cordoned_by", sa.String(), nullable=True))
    op.add_column("devices", sa.Column("cordon_note", sa.String(), nullable=True))
    op.add_column("devices", sa.Column("standing", sa.JSON(), nullable=True))
    op.add_column("workers", sa.Column("absent", sa.JSON(), nullable=False, server_default=_EMPTY_OBJECT))


def _model_files() -> None:
    op.add_column("models", sa.Column("source_revision", sa.String(), nullable=True))
    op.add_column("models", sa.Column("include", sa.JSON(), nullable=False, server_default=_EMPTY_LIST))
    op.create_table(
        "model_files",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("revision", sa.String(), nullable=True),
        sa.Column("include", sa.JSON(), nullable=False),
        sa.Column("format", sa.String(), nullable=True),
        sa.Column("wanted", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("said", sa.JSON(), nullable=True),
        sa.Column("path", sa.String(), nullable=True),
        sa.Column("commit", sa.String(), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=True),
        sa.Column("done_bytes", sa.BigInteger(), nullable=True),
        sa.Column("bytes_per_second", sa.Float(), nullable=True),
        sa.Column("created_by", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_model_files_worker_id", "model_files", ["worker_id"])


def _engine_versions() -> None:
    op.create_table(
        "engine_versions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("backend", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("device_kind", sa.String(), nullable=False),
        sa.Column("workers", sa.JSON(), nullable=False),
        sa.Column("recipe", sa.JSON(), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("backend", "version", "device_kind"),
        sqlite_autoincrement=True,
    )
