"""What is known of the packages that we install: found, allowed, or not looked up, and never mistaken for clean."""

from scripts.audit import Audit, judged, locked

CLEAN = {"name": "clean", "version": "1", "vulns": []}
HOLED = {"name": "holed", "version": "2", "vulns": [{"id": "PYSEC-1"}, {"id": "GHSA-2"}]}
SKIPPED = {"name": "skipped", "skip_reason": "Dependency not found on PyPI and could not be audited"}


def test_a_package_that_nobody_looked_up_is_not_called_clean() -> None:
    found = judged([CLEAN, HOLED, SKIPPED], {})
    assert found == Audit(1, {"holed 2": ["PYSEC-1", "GHSA-2"]}, 1)
    assert "Known vulnerabilities: holed 2: PYSEC-1, GHSA-2." in found.sentence
    assert "1 were not audited" in found.sentence


def test_an_advisory_is_allowed_by_its_own_id_alone() -> None:
    assert judged([HOLED], {"PYSEC-1": "not reached"}).vulnerable == {"holed 2": ["GHSA-2"]}
    assert judged([HOLED], {"PYSEC-1": "not reached", "GHSA-2": "nor this"}) == Audit(1, {}, 0)


def test_the_list_is_that_of_the_lock() -> None:
    packages = locked()
    assert {"fastapi", "sqlmodel", "httpx", "typer"} <= {each.partition("==")[0] for each in packages}
    assert all(each.count("==") == 1 for each in packages)
