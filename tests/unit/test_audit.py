"""The chain by itself: what is not as it was written is found, at the first row that does not fit."""

from typing import Any

import pytest

from gpustack_lite import audit
from gpustack_lite.audit import GENESIS, Head, Noted, Walk

Rows = list[tuple[dict[str, Any], str]]


def content(row: int, **given: Any) -> dict[str, Any]:
    return {"id": row, "action": "update", "name": f"n{row}", "before": None, "after": {"replicas": row}} | given


def chain(count: int, first: int = 1, previous: str = GENESIS) -> Rows:
    rows: Rows = []
    for row in range(first, first + count):
        previous = audit.linked(previous, content(row))
        rows.append((content(row), previous))
    return rows


def fault(rows: Rows, head: Head | None = None, noted: Noted | None = None) -> tuple[str, int] | None:
    walk = Walk(head or Head(5, CHAIN[-1][1]), noted)
    found = next((each for row in rows if (each := walk.step(*row))), None) or walk.end()
    return None if found is None else (found.code, int(str(found.params["row"])))


CHAIN = chain(5)
FORGED = chain(2) + chain(3, 3, chain(2)[-1][1])
CHANGED = (content(3, name="somebody else"), CHAIN[2][1])
RENEWED = (content(3, name="somebody else"), audit.linked(CHAIN[1][1], content(3, name="somebody else")))
EXTRA = (content(6), audit.linked(CHAIN[-1][1], content(6)))


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        pytest.param(CHAIN, None, id="as it was written"),
        pytest.param([*CHAIN[:2], CHANGED, *CHAIN[3:]], ("audit_row_changed", 3), id="a row is edited"),
        pytest.param([*CHAIN[:2], RENEWED, *CHAIN[3:]], ("audit_row_changed", 4), id="edited, with its digest"),
        pytest.param([*CHAIN[:2], *CHAIN[3:]], ("audit_row_missing", 3), id="a row is deleted"),
        pytest.param(CHAIN[1:], ("audit_row_missing", 1), id="the first is deleted"),
        pytest.param(CHAIN[:4], ("audit_tail_missing", 5), id="the last is deleted"),
        pytest.param([], ("audit_tail_missing", 1), id="all are deleted"),
        pytest.param([*CHAIN, EXTRA], ("audit_row_added", 6), id="one is added"),
        pytest.param([(content(0), GENESIS), *CHAIN], ("audit_row_added", 0), id="one is put before"),
        pytest.param(
            [*CHAIN[:2], (content(3) | {"name": "n4"}, CHAIN[2][1]), *CHAIN[3:]], ("audit_row_changed", 3), id="swapped"
        ),
    ],
)
def test_the_first_row_that_does_not_fit_is_named(rows: Rows, found: object) -> None:
    assert fault(rows) == found


def rewritten(rows: Rows) -> Rows:
    """As somebody does it who knows the rule: every digest from the third row on made anew."""
    previous, made = rows[1][1], rows[:2]
    for each, _ in rows[2:]:
        body = each | ({"name": "forged"} if each["id"] == 3 else {})
        previous = audit.linked(previous, body)
        made = [*made, (body, previous)]
    return made


def test_a_chain_that_was_written_anew_does_not_end_in_the_head() -> None:
    assert fault(rewritten(CHAIN)) == ("audit_head_differs", 5)


def test_a_digest_that_was_noted_elsewhere_finds_a_head_that_was_forged_too() -> None:
    forged = rewritten(CHAIN)
    head = Head(5, forged[-1][1])
    assert fault(forged, head) is None
    assert fault(forged, head, Noted(4, CHAIN[3][1])) == ("audit_noted_differs", 4)
    assert fault(CHAIN, None, Noted(4, CHAIN[3][1])) is None
    assert fault(CHAIN, None, Noted(9, CHAIN[3][1])) == ("audit_noted_gone", 9)


def trimmed(up_to: int) -> tuple[Rows, Head]:
    told = content(6, action="trim", after={"row": up_to, "digest": CHAIN[up_to - 1][1]})
    last = audit.linked(CHAIN[-1][1], told)
    return [*CHAIN[up_to:], (told, last)], Head(6, last, up_to, CHAIN[up_to - 1][1])


def test_a_trimmed_log_is_whole_and_its_beginning_is_vouched_for() -> None:
    rows, head = trimmed(2)
    assert fault(rows, head) is None
    assert fault(rows[1:], head) == ("audit_row_missing", 3)


def test_rows_that_were_taken_away_as_if_trimmed_are_missed() -> None:
    rows, head = trimmed(2)
    assert fault(rows[1:], Head(6, head.digest, 3, CHAIN[2][1])) == ("audit_anchor_differs", 3)
    assert fault(CHAIN[2:], Head(5, CHAIN[-1][1], 2, CHAIN[1][1])) == ("audit_anchor_differs", 2)


def test_what_looks_secret_and_all_of_an_environment_is_hidden() -> None:
    seen = {
        "env": {"HF_HOME": "/x", "HF_TOKEN": "canary"},
        "options": {"api-key": "canary", "max-model-len": 4096, "tokens_per_day": 5},
        "spec": [{"env": {"A": "canary"}, "client_secret": "canary"}],
    }
    told = audit.masked(seen)
    assert "canary" not in str(told)
    assert told["options"]["max-model-len"] == 4096
    assert told["options"]["tokens_per_day"] == 5
    assert set(told["env"]) == {"HF_HOME", "HF_TOKEN"}


def test_a_row_has_a_bound() -> None:
    assert audit.bounded({"options": "x" * 100_000}) == {"too_long_bytes": 100_014, "fields": ["options"]}
