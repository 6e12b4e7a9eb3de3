"""The simulator holds the invariants on many seeds, is reproducible, and notices every mistake that was planted."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.__main__ import main
from tests.sim.mutants import MUTANTS
from tests.sim.run import run, run_seed
from tests.sim.shrink import shrink
from tests.sim.steps import Step, schedule, setup
from tests.sim.world import STEPS

ROOT = Path(__file__).parents[2]
SEEDS, STEP_COUNT = 60, 300


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_seed_holds_the_invariants_and_converges(seed: int) -> None:
    outcome = run_seed(seed, STEP_COUNT)
    assert outcome.violations == (), f"python -m tests.sim --seed {seed} --steps {STEP_COUNT} --shrink"


@pytest.mark.parametrize("seed", range(0, SEEDS, 6))
def test_a_replay_is_the_same_to_the_last_event(seed: int) -> None:
    assert run_seed(seed, STEP_COUNT).digest == run_seed(seed, STEP_COUNT).digest


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_planted_mistake_is_noticed_within_a_hundred_seeds(mutant: str) -> None:
    assert any(run_seed(seed, STEP_COUNT, MUTANTS[mutant]).violations for seed in range(100))


def test_every_kind_of_step_is_taken_somewhere() -> None:
    taken = {step.kind for seed in range(SEEDS) for step in schedule(seed, STEP_COUNT)}
    assert taken == set(STEPS)


def test_a_failure_is_shrunk_to_what_it_needs() -> None:
    rules, seed = MUTANTS["a round does not see its own placements"], 0

    def fails(steps: object) -> bool:
        return bool(run(setup(seed), steps, rules).violations)  # type: ignore[arg-type]

    steps = schedule(seed, 100)
    assert fails(steps)
    fewest = shrink(steps, fails)
    assert fails(fewest)
    assert len(fewest) <= 6
    assert all(isinstance(step, Step) for step in fewest)


def test_a_failure_is_told_with_its_seed_and_the_last_events(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "0", "--seeds", "9", "--steps", "120", "--mutant", "worker stops nothing"]) == 1
    said = capsys.readouterr().out
    assert re.search(r"^seed \d+ fails: L\d: ", said, re.MULTILINE)
    assert "the last 50 events:" in said


def test_the_command_prints_the_same_trace_whatever_the_hash_seed(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--seed", "3", "--steps", "200", "--trace"]
    assert main(arguments) == 0
    done = subprocess.run(
        [sys.executable, "-m", "tests.sim", *arguments],
        cwd=ROOT,
        env={"PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == capsys.readouterr().out
