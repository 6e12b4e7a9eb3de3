from pathlib import Path

import pytest

from gpustack_lite.cli import checks
from gpustack_lite.cli.checks import foreign_owners, nearest_folder
from gpustack_lite.ports import Ports
from gpustack_lite.settings import Settings
from tests.fakes.clock import ManualClock

OURS = {name: ["gpustack-lite"] for name in checks.OUR_NAMES}


@pytest.mark.parametrize(
    ("owners", "found"),
    [
        (OURS, []),
        ({}, []),
        (OURS | {"worker": ["gpustack-lite", "worker"]}, [("worker", "worker")]),
        (OURS | {"backends": ["django-x"]}, [("backends", "django-x")]),
        (OURS | {"workers": ["other"]}, []),
    ],
    ids=["only ours", "not installed", "beside ours", "in place of ours", "another name"],
)
def test_another_owner_of_our_names_is_found(owners: dict[str, list[str]], found: list[tuple[str, str]]) -> None:
    assert foreign_owners(owners) == found


def test_a_data_dir_that_is_still_to_be_made_is_judged_by_the_folder_above(tmp_path: Path) -> None:
    assert nearest_folder(tmp_path / "a" / "b") == tmp_path
    assert checks.data_dir(Settings(data_dir=tmp_path / "a" / "b"), Ports()).status == "pass"


def test_a_file_in_the_way_of_the_data_dir_fails(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check = checks.data_dir(Settings(data_dir=tmp_path / "file" / "data"), Ports())
    assert check.status == "fail"
    assert check.remedy is not None


@pytest.mark.parametrize(("engine_ports", "status"), [("21000-21999", "pass"), ("30000-40000", "warn")])
def test_engine_ports_are_to_be_apart_from_outgoing_ones(engine_ports: str, status: str) -> None:
    class Disk:
        def read(self, path: Path) -> bytes:
            return b"32768\t60999\n"

    check = checks.engine_ports(Settings(engine_ports=engine_ports), Ports(disk=Disk()))  # type: ignore[arg-type]
    assert check.status == status


def test_a_clock_at_the_epoch_fails() -> None:
    class Epoch(ManualClock):
        def wall(self):  # type: ignore[no-untyped-def]
            return super().wall().replace(year=1970)

    assert checks.clock(Settings(), Ports(clock=Epoch())).status == "fail"
