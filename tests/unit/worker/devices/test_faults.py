"""From what a device tells to what is done about it."""

from typing import Any

import pytest

from gpustack_lite.domain import Device
from gpustack_lite.messages import CATALOGUE, text
from gpustack_lite.wire import FaultReport
from worker.devices import fault_codes
from worker.devices.faults import fault_of


def card(*error_codes: str, kind: Any = "ascend", health: Any = "ok") -> Device:
    return Device("w1", 0, kind, "910B3", None, health=health, error_codes=error_codes)


def fault(device: Device) -> FaultReport:
    found = fault_of(device)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("device", "action", "code", "said"),
    [
        pytest.param(card("80E01801", health="warning"), "restart", "80E01801", "fault_restart", id="restarts work"),
        pytest.param(card("80c98008"), "retry", "80c98008", "fault_retry", id="spelled small"),
        pytest.param(card("0x80E21007"), "ignore", "0x80E21007", "fault_ignore", id="not handled"),
        pytest.param(card("8C2FA001"), "ignore", "8C2FA001", "fault_ignore", id="sub-healthy"),
        pytest.param(card("8C03A000"), "isolate", "8C03A000", "fault_isolate", id="needs a reset"),
        pytest.param(card("80E18402"), "isolate", "80E18402", "fault_isolate", id="to be separated"),
        pytest.param(card("A2301001"), "isolate", "A2301001", "fault_isolate", id="in two lists: the higher"),
        pytest.param(card("80E01801", "8C03A000"), "isolate", "8C03A000", "fault_isolate", id="the gravest of two"),
        pytest.param(card("DEADBEEF"), "ignore", "DEADBEEF", "fault_unlisted", id="unknown, healthy"),
        pytest.param(
            card("DEADBEEF", health="critical"), "isolate", "DEADBEEF", "fault_unlisted_isolate", id="unknown"
        ),
        pytest.param(card(health="warning"), "ignore", "health:warning", "fault_health", id="a warning alone"),
        pytest.param(card(health="alarm"), "isolate", "health:alarm", "fault_health_isolate", id="an alarm alone"),
        pytest.param(card("Xid 79", kind="cuda"), "isolate", "Xid 79", "fault_isolate", id="off the bus"),
        pytest.param(card("Xid 94", kind="cuda"), "restart", "Xid 94", "fault_restart", id="contained error"),
        pytest.param(card("Xid 31", kind="cuda"), "ignore", "Xid 31", "fault_ignore", id="a program's own"),
        pytest.param(card("Xid 999", kind="cuda"), "ignore", "Xid 999", "fault_unlisted", id="unknown Xid"),
        pytest.param(card("80E18402", kind="rocm"), "ignore", "80E18402", "fault_unlisted", id="another vendor's"),
    ],
)
def test_a_device_is_judged_by_the_gravest_it_tells(device: Device, action: str, code: str, said: str) -> None:
    found = fault(device)
    assert (found.action, found.code, found.said.code) == (action, code, said)


@pytest.mark.parametrize("health", ["ok", "unknown"])
def test_who_tells_nothing_has_no_fault(health: str) -> None:
    assert fault_of(card(health=health)) is None


def test_the_sentence_names_the_code_and_the_vendors_level() -> None:
    said = fault(card("80E18402")).said
    assert "80E18402 (SeparateNPU)" in text(said)  # type: ignore[arg-type]  # it has the same fields


def test_every_documented_code_has_a_sentence() -> None:
    known = (fault_codes.NOT_HANDLED, fault_codes.SUB_HEALTHY, fault_codes.RESTART_REQUEST, fault_codes.SEPARATE)
    for each in (*known, fault_codes.RESTART_BUSINESS, fault_codes.RESET, fault_codes.RESET_WHEN_FREE):
        for code in each:
            assert len(code) == 8
            assert fault(card(code)).said.code in CATALOGUE
