from gpustack_lite.gateway import rows
from gpustack_lite.gateway.rows import Row
from gpustack_lite.wire import UsageRow
from tests.fakes.clock import START

LEAST = Row("r1", "m", "/v1/embeddings", START, 0.5, 200)


def test_a_row_is_what_the_server_reads() -> None:
    assert set(Row.__struct_fields__) == set(UsageRow.model_fields)
    whole = UsageRow.model_validate_json(rows.encode(LEAST))
    assert whole == UsageRow(
        request_id="r1", model="m", path="/v1/embeddings", started_at=START, seconds=0.5, status=200
    )


def test_what_is_left_out_is_what_the_server_assumes() -> None:
    for name in Row.__struct_fields__:
        if not UsageRow.model_fields[name].is_required():
            assert getattr(LEAST, name) == UsageRow.model_fields[name].default


def test_what_is_no_row_is_none() -> None:
    assert rows.decode(b"") is None
    assert rows.decode(b"[]") is None
    assert rows.decode(rows.encode(LEAST)) == LEAST
