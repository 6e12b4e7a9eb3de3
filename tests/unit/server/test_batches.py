from datetime import timedelta
from typing import Any

import pytest

from gpustack_lite.db.queries.batches import Maker
from gpustack_lite.db.tables import ApiKey, Batch, User
from gpustack_lite.server.batches import must_end
from tests.fakes.clock import START

DAY = timedelta(days=1)
USER = User(id=1, username="ada", password_hash="", created_at=START)


def key(**fields: Any) -> ApiKey:
    return ApiKey(**{"id": 2, "name": "k", "user_id": 1, "digest": "d", "prefix": "p", "created_at": START, **fields})


def batch(**fields: Any) -> Batch:
    given = {"id": "batch_1", "user_id": 1, "key_id": 2, "endpoint": "e", "input_file_id": "f", **fields}
    return Batch(**{"status": "in_progress", "created_at": START, "expires_at": START + DAY, **given})


@pytest.mark.parametrize(
    ("asked", "maker", "status"),
    [
        pytest.param(batch(), Maker(key(), USER), None, id="it goes on"),
        pytest.param(batch(key_id=None), Maker(None, USER), None, id="made without a key"),
        pytest.param(batch(status="cancelling"), Maker(key(), USER), "cancelled", id="cancelled"),
        pytest.param(batch(expires_at=START), Maker(key(), USER), "expired", id="out of time"),
        pytest.param(batch(), Maker(None, USER), "failed", id="its key is gone"),
        pytest.param(batch(), Maker(key(enabled=False), USER), "failed", id="its key is disabled"),
        pytest.param(batch(), Maker(key(expires_at=START), USER), "failed", id="its key has expired"),
        pytest.param(batch(key_id=None), Maker(None, None), "failed", id="its user is gone"),
    ],
)
def test_when_a_batch_must_end(asked: Batch, maker: Maker, status: str | None) -> None:
    verdict = must_end(asked, maker, START)
    assert (None if verdict is None else verdict.status) == status
    if status == "failed":
        assert verdict is not None
        assert verdict.errors[0]["code"] == "batch_maker_gone"
