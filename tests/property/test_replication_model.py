"""Random steps against a cluster keep the rules of the model (`support/replication_storm.py`)."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.replication_mutations import FAULTS, ROOT
from support.replication_storm import storm

TESTS = Path(__file__).parents[1]
SOAK_SEEDS = 10_000


@pytest.mark.parametrize("seed", range(30))
async def test_no_step_breaks_a_promise(seed: int) -> None:
    await storm(seed)


async def test_an_epoch_in_which_nothing_was_written_is_forgotten_with_the_leader() -> None:
    """A follower that had led for a moment diverged for ever at its own end."""
    await storm(14)


async def test_a_leader_that_hears_of_nothing_knows_the_isr_that_it_has_asked_for() -> None:
    """It committed a record without a broker that the controller had elected meanwhile."""
    await storm(7167)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1000 + SOAK_SEEDS, 1000))
def test_no_step_breaks_a_promise_in_a_thousand_more_runs(first: int) -> None:
    command = [sys.executable, "-m", "support.replication_storm", str(first), str(first + 1000)]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("path", "right"), [(path, right) for _, path, right, _ in FAULTS], ids=[what for what, *_ in FAULTS]
)
def test_a_fault_has_its_place_in_the_code_of_today(path: str, right: str) -> None:
    assert right in (ROOT / path).read_text()


@pytest.mark.slow
def test_the_model_finds_faults_that_are_put_into_the_replication_code() -> None:
    command = [sys.executable, "-m", "support.replication_mutations"]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
