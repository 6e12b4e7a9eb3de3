from datetime import datetime

from gpustack_lite.gateway import rows
from gpustack_lite.gateway.rows import Common, Commons, End, Row, Stamps
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


def test_the_parts_of_a_row_are_the_whole_row() -> None:
    parts = ["request_id", "started_at", *Common.__struct_fields__, *End.__struct_fields__]
    assert sorted(parts) == sorted(Row.__struct_fields__)
    common = Common("m", "/v1/embeddings", key_id=7, public_name='a "b"', worker="w\u00e9")
    beginning = rows.begun("r1", b"2026-11-30T12:00:00.000000Z", Commons().text(common))
    text = b"%s,%s" % (beginning, rows.encode(End(0.5, 200, 3, 2))[1:])
    whole = rows.decode(text)
    assert whole == Row("r1", "m", "/v1/embeddings", START, 0.5, 200, key_id=7, prompt_tokens=3, completion_tokens=2,
                        public_name='a "b"', worker="w\u00e9")  # fmt: skip


def test_what_requests_have_in_common_is_written_once_and_few_are_kept() -> None:
    commons = Commons(most=2)
    first = commons.text(Common("m", "/p", instance_id=1))
    assert commons.text(Common("m", "/p", instance_id=1)) is first
    assert [commons.text(Common("m", "/p", instance_id=each)) for each in (2, 3, 1)][-1] == first
    assert len(commons._texts) <= 2


def test_times_are_spelt_to_the_microsecond_also_when_the_wall_goes_back() -> None:
    times = [START.timestamp() + each for each in (0.0, 0.25, 0.999999, 61.5, -86400.125)]
    stamps = Stamps(iter(times).__next__)
    found = [datetime.fromisoformat(stamps.now().decode()).timestamp() for _ in times]
    assert all(abs(a - b) < 2e-6 for a, b in zip(found, times, strict=True))


def test_what_is_no_row_is_none() -> None:
    assert rows.decode(b"") is None
    assert rows.decode(b"[]") is None
    assert rows.decode(rows.encode(LEAST)) == LEAST
