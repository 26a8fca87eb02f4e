"""^C and SIGTERM end a job with one sentence wherever it is, and neither a process nor a file of it stays."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from stepdown.bench.servers.process import wait_until
from support.deadline import JOB_DEADLINE_S
from support.interrupts import names_of_processes, run_interrupted
from support.log_directories import write_topic

SENTENCE = "stepdown-pipeline: interrupted\n"
JOBS = (
    ("census", "logs", "--out", "out"),
    ("archive", "logs", "out"),
    ("convert", "logs", "out", "--magic", "1"),
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("imports", [0, 40, 400])
def test_while_modules_are_imported(imports: int, number: signal.Signals) -> None:
    """It was a traceback, and at some moments a job that went on."""
    arguments = ("stepdown-pipeline", "census", "nowhere")
    ended = run_interrupted("stepdown.pipeline.process:start", arguments, imports, number)
    assert (ended.returncode, ended.stderr.decode()) == (128 + number, SENTENCE)


def jvm_starts(names: list[str]) -> bool:
    return "java" in names


def tasks_run(names: list[str]) -> bool:
    return any(name.startswith("python") for name in names)


@pytest.mark.java
@pytest.mark.parametrize(
    ("moment", "number"),
    [
        (jvm_starts, signal.SIGINT),
        (jvm_starts, signal.SIGTERM),
        pytest.param(tasks_run, signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(tasks_run, signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_while_spark_starts_or_runs(
    tmp_path: Path, moment: Callable[[list[str]], bool], number: signal.Signals
) -> None:
    """A JVM that was starting stayed for ever; later ^C was a traceback of py4j. SIGTERM left the temporary files."""
    write_topic(tmp_path / "logs", "topic", segments=3)
    job, temporary = start_job(tmp_path, *JOBS[0])
    wait_until(lambda: moment(names_of_processes(temporary)), "the moment", timeout_s=JOB_DEADLINE_S)
    assert interrupt(job, temporary, number) == [SENTENCE]


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_at_any_moment(tmp_path: Path, seed: int) -> None:
    write_topic(tmp_path / "logs", "topic", segments=3)
    job, temporary = start_job(tmp_path, *JOBS[seed % len(JOBS)])
    with suppress(subprocess.TimeoutExpired):
        job.wait(random.Random(seed).uniform(0.5, 15.0))
    assert interrupt(job, temporary) in ([SENTENCE], [])


@pytest.mark.java
@pytest.mark.slow
def test_an_archive_that_goes_on_ends_in_order(tmp_path: Path) -> None:
    write_topic(tmp_path / "logs", "topic", segments=3)
    job, temporary = start_job(tmp_path, "archive", "logs", "out", "--trigger", "1", "--json")
    state = tmp_path / "out" / "_archive.json"
    wait_until(lambda: state.exists() and json.loads(state.read_text())["done"], "a batch", timeout_s=JOB_DEADLINE_S)
    os.killpg(job.pid, signal.SIGINT)
    printed, told = job.communicate(timeout=JOB_DEADLINE_S)
    assert job.returncode == 0, told
    assert json.loads(printed)["rows"] == 120
    assert "Traceback" not in told
    assert list(temporary.iterdir()) == []


def start_job(folder: Path, *words: str) -> tuple[subprocess.Popen[str], Path]:
    """A job in `folder`, in the foreground of a terminal, and the folder of its temporary files."""
    temporary = folder / "tmp"
    temporary.mkdir()
    command = ["env", "--default-signal=INT", sys.executable, "-m", "stepdown.pipeline"]
    environment = os.environ | {"TMPDIR": str(temporary)}
    job = subprocess.Popen(
        [*command, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
    )
    return job, temporary


def interrupt(job: subprocess.Popen[str], temporary: Path, number: signal.Signals = signal.SIGINT) -> list[str]:
    """What the job says then; nothing where it had been done."""
    with suppress(ProcessLookupError):
        os.killpg(job.pid, number)
    _, told = job.communicate(timeout=JOB_DEADLINE_S)
    usual = ("incubator", "segments", "batch 0")
    lines = [line for line in told.splitlines(keepends=True) if not any(word in line for word in usual)]
    assert job.returncode == (128 + number if lines else 0), told
    assert names_of_processes(temporary) == []
    assert list(temporary.iterdir()) == []
    return lines
