"""`python scripts/audit.py`: bandit over the sources, and the locked packages beside the advisories that are published.

What could not be looked up is said by its number, never passed over: `--required` makes it a failure, for a release.
A vulnerability that does not reach us may stand in ALLOWED, with the reason.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
SOURCES = ("gpustack_lite", "backends", "scheduler", "worker")
ALLOWED: Mapping[str, str] = {}
"""Id of an advisory -> why it does not matter here."""
SECONDS = 120


class Audit(NamedTuple):
    """Packages by what was found out: ids of advisories that are not allowed, or nothing because nobody answered."""

    clean: int
    vulnerable: dict[str, list[str]]
    unknown: int

    @property
    def sentence(self) -> str:
        found = "; ".join(f"{name}: {', '.join(ids)}" for name, ids in sorted(self.vulnerable.items()))
        told = [f"Known vulnerabilities: {found}."] if found else []
        told += [f"{self.clean} locked packages have no known vulnerability."] if self.clean else []
        told += [f"{self.unknown} were not audited: no advisory service answered for them."] if self.unknown else []
        return " ".join(told)


def judged(dependencies: Iterable[Mapping[str, Any]], allowed: Mapping[str, str] = ALLOWED) -> Audit:
    """Of pip-audit's JSON: an entry has `vulns`, or a `skip_reason`."""
    clean, unknown, vulnerable = 0, 0, {}
    for each in dependencies:
        ids = [one["id"] for one in each.get("vulns", ()) if one["id"] not in allowed]
        if ids:
            vulnerable[f"{each['name']} {each['version']}"] = ids
        elif "skip_reason" in each:
            unknown += 1
        else:
            clean += 1
    return Audit(clean, vulnerable, unknown)


def locked() -> list[str]:
    """name==version of everything that any installation of ours brings."""
    asked = [str(BIN / "uv"), "export", "--frozen", "--all-extras", "--no-hashes", "--no-emit-project", "--no-header"]
    told = subprocess.run([*asked, "--no-annotate"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [line.partition(";")[0].strip() for line in told.splitlines() if "==" in line]


def looked_up(packages: list[str]) -> Audit:
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "requirements.txt")
        listed.write_text("\n".join(packages))
        asked = [str(BIN / "pip-audit"), "--disable-pip", "--no-deps", "--format", "json", "--progress-spinner", "off"]
        try:
            told = subprocess.run(
                [*asked, "-r", str(listed)], capture_output=True, text=True, timeout=SECONDS, check=False
            ).stdout
            return judged(json.loads(told)["dependencies"])
        except (subprocess.TimeoutExpired, ValueError):
            return Audit(0, {}, len(packages))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--required", action="store_true", help="what could not be looked up is a failure")
    is_required = parser.parse_args().required
    bandit = [str(BIN / "bandit"), "--quiet", "--configfile", "pyproject.toml", "--recursive", *SOURCES]
    if code := subprocess.run(bandit, cwd=ROOT, check=False).returncode:
        return code
    found = looked_up(locked())
    print(found.sentence)
    return 1 if found.vulnerable or (is_required and found.unknown) else 0


if __name__ == "__main__":
    sys.exit(main())
