"""Runs seeds of the simulator: `python -m tests.sim --seed 7 --steps 300 --trace`."""

import argparse
import sys
from collections.abc import Sequence

from tests.sim.mutants import MUTANTS, RIGHT
from tests.sim.rules import Rules
from tests.sim.run import Outcome, run
from tests.sim.shrink import shrink
from tests.sim.steps import Step, schedule, setup

LAST_EVENTS = 50


def main(arguments: Sequence[str] | None = None) -> int:
    wanted = _arguments().parse_args(arguments)
    rules = MUTANTS[wanted.mutant] if wanted.mutant else RIGHT
    for seed in range(wanted.seed, wanted.seed + wanted.seeds):
        steps = schedule(seed, wanted.steps)
        outcome = run(setup(seed), steps, rules)
        if wanted.trace:
            print("\n".join(outcome.trace))
        if outcome.violations:
            _tell(seed, steps, outcome, rules, wanted.shrink)
            return 1
        print(f"seed {seed}: {wanted.steps} steps hold, trace {outcome.digest[:16]}")
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--trace", action="store_true", help="print every step")
    parser.add_argument("--shrink", action="store_true", help="leave out the steps that a failure does not need")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), help="break one rule on purpose")
    return parser


def _tell(seed: int, steps: Sequence[Step], outcome: Outcome, rules: Rules, is_shrunk: bool) -> None:
    print(f"seed {seed} fails: {'; '.join(outcome.violations)}")
    if is_shrunk:
        steps, outcome = _shrunk(seed, steps, outcome, rules)
        print(f"{len(steps)} steps are enough, {'; '.join(outcome.violations)}:")
        print("\n".join(map(str, steps)))
    print(f"the last {LAST_EVENTS} events:")
    print("\n".join(outcome.trace[-LAST_EVENTS:]))


def _shrunk(seed: int, steps: Sequence[Step], outcome: Outcome, rules: Rules) -> tuple[Sequence[Step], Outcome]:
    code = outcome.violations[0].partition(":")[0]

    def fails(some: Sequence[Step]) -> bool:
        return any(each.startswith(f"{code}:") for each in run(setup(seed), some, rules).violations)

    fewest = shrink(steps, fails)
    return fewest, run(setup(seed), fewest, rules)


if __name__ == "__main__":
    sys.exit(main())
