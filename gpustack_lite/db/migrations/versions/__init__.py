"""One file per revision, named NUMBER_what.py; NUMBER is the Alembic revision."""
