"""No table is forgotten: each is in the audit log, or stated to be the platform's own affair."""

from sqlmodel import SQLModel

from gpustack_lite.db import tables
from gpustack_lite.db.audited import AUDITED, OWN_AFFAIR


def test_every_table_is_decided_about() -> None:
    every = {
        each
        for each in vars(tables).values()
        if isinstance(each, type) and issubclass(each, SQLModel) and hasattr(each, "__table__")
    }
    assert every == AUDITED.keys() | OWN_AFFAIR
    assert not AUDITED.keys() & OWN_AFFAIR


def test_what_is_shown_are_columns_and_no_digest_or_hash() -> None:
    for table, audited in AUDITED.items():
        assert {audited.name, *audited.shown, *audited.hidden} <= set(table.model_fields)
        assert [name for name in audited.shown if "digest" in name or "hash" in name or name == "sealed"] == []
