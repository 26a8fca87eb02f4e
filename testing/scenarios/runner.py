"""Runs the steps of a scenario in order, and lets all that needs no time happen after each; armed faults must fire."""

from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from .scenario import Scenario
from .simulation import Simulation
from .steps import STEPS


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerResult:
    """`lines`: the events in order. `failure`: "" if all was as expected."""

    lines: Sequence[str]
    failure: str = ""


async def run(scenario: Scenario, *, seed: int = 0) -> RunnerResult:
    """Runs a scenario and returns the result. The same scenario and seed give the same lines."""
    with TemporaryDirectory(prefix="stepdown-scenario-", ignore_cleanup_errors=True) as folder:
        return await _run(scenario, seed, folder)


async def _run(scenario: Scenario, seed: int, folder: str) -> RunnerResult:
    async with Simulation(scenario, seed, folder) as simulation:
        failure = ""
        for number, (name, what) in enumerate(scenario.steps, 1):
            try:
                if name not in STEPS:
                    raise AssertionError(f"there is no such step; there are {', '.join(STEPS)}")
                await STEPS[name](simulation, what)
                await simulation.settle()
            except (AssertionError, KeyError, TypeError) as fault:
                failure = f"step {number}, {name}: {fault}"
                break
        lines = simulation.lines()
        unfired = simulation.control.faults.reset()
        if unfired and not failure:
            failure = f"armed and never fired: {', '.join(each.fault.kind for each in unfired)}"
        return RunnerResult(lines=lines, failure=failure)
