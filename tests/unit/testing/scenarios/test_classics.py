"""The classics, each as expected; and the same lines whenever they run."""

import subprocess
import sys
from pathlib import Path

import pytest
from stepdown.testing.scenarios.runner import run
from stepdown.testing.scenarios.scenario import WrongScenario, load, names, parse

TESTS = Path(__file__).parents[3]


@pytest.mark.parametrize("name", names())
async def test_a_classic_goes_as_expected_and_the_same_again(name: str) -> None:
    first = await run(load(name), seed=3)
    assert first.failure == "", "\n".join(first.lines)
    assert (await run(load(name), seed=3)).lines == first.lines


def same_seed(runs: int, *names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "support.same_seed", str(runs), *names]
    return subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)


def test_a_busy_machine_changes_no_line() -> None:
    """A turn of a connection ended after so much real time; the clock went on while threads were at work."""
    done = same_seed(16, "all-replicas-in-sync", "recompressed")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_same_seed_gives_the_same_lines_many_times() -> None:
    """`make same-seed` runs each a thousand times."""
    done = same_seed(100)
    assert done.returncode == 0, done.stdout + done.stderr


HEAD = "name: x\ntitle: x\nexplains: x\ntopics: {t: {}}\nproducers: {app: {}}\n"


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("- arm: {kind: drop, tims: 1}", "step 1, arm: a fault of kind drop has no field 'tims'"),
        ("- arm: {kind: drop, api: Fetch}", "armed and never fired: drop"),
        ("- wait: 5s", "step 1, wait: there is no such step"),
        (
            "- send: {producer: app, topic: t, values: [a]}\n- expect: {acknowledged: [b]}",
            "acknowledged are ['a'], not",
        ),
        ("- expect: {records: {t: [a]}}", "t holds [], not ['a']"),
        ("- expect: {recrods: {}}", "nothing can be expected of 'recrods'"),
    ],
)
async def test_what_is_not_as_expected_is_said(steps: str, said: str) -> None:
    indented = "\n".join(f"  {line}" for line in steps.splitlines())
    result = await run(parse(f"{HEAD}steps:\n{indented}\n", "here"))
    assert said in result.failure


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a", "expected name, title"),
        ("name: [", "while parsing"),
        ("nmae: x", "has no 'nmae'"),
        ("name: x", "title is missing"),
        (HEAD + "steps: [a]", "step 1: expected one name"),
    ],
)
def test_what_is_no_scenario_is_said(text: str, said: str) -> None:
    with pytest.raises(WrongScenario, match=said):
        parse(text, "here")


def test_a_scenario_that_is_not_there_is_said() -> None:
    with pytest.raises(WrongScenario, match="there are all-replicas-in-sync, "):
        load("nope")
