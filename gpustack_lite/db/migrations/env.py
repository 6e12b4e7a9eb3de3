"""Run by Alembic: migrates on the connection that `runner.migrate` hands over, inside its transaction."""

from alembic import context
from sqlmodel import SQLModel

import gpustack_lite.db.tables  # noqa: F401  # fills the metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    transactional_ddl=True,
    render_as_batch=True,
)
context.run_migrations()
