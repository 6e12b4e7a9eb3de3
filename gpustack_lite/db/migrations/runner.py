"""Brings a database to the newest revision in one transaction, and refuses one that a newer program wrote."""

from importlib import resources

from sqlalchemy import Connection, inspect, text

from gpustack_lite.errors import Refusal

_PACKAGE = "gpustack_lite.db.migrations.versions"


def known_revisions() -> tuple[str, ...]:
    """In order; read from the file names, so that a start with nothing to migrate need not import Alembic."""
    names = (entry.name for entry in resources.files(_PACKAGE).iterdir())
    return tuple(sorted(name.split("_")[0] for name in names if name[:1].isdigit() and name.endswith(".py")))


def current_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def migrate(connection: Connection) -> None:
    """Upgrade to the newest revision; a database that is already there is left alone.

    Raises:
        Refusal: `database_newer`.
    """
    found, known = current_revision(connection), known_revisions()
    if found is not None and found not in known:
        raise Refusal("database_newer", status=500, found=found, known=known[-1])
    if found != known[-1]:
        _upgrade(connection)


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "gpustack_lite.db:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
