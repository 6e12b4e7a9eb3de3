"""Alembic migrations, packaged with the program; `runner.migrate` brings a database to the newest revision."""
