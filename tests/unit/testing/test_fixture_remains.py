"""Five hundred tests, each with a broker of its own, and what is left after all; `make times` measures them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
import pytest

@pytest.mark.parametrize("number", range(500))
def test_an_order_is_published(kafka, number):
    kafka.produce("orders", "paid")
    kafka.assert_produces("orders", "paid")
"""
CONFTEST = """
import json, os, threading

took, open_at_first = {}, None

def held():
    return [sorted(os.listdir("/proc/self/fd")), sorted(thread.name for thread in threading.enumerate())]

def pytest_runtest_logreport(report):
    took[report.nodeid] = took.get(report.nodeid, 0) + report.duration

def pytest_runtest_logfinish():
    global open_at_first
    if "PYTEST_XDIST_WORKER" in os.environ or "PYTEST_ONE_PROCESS" in os.environ:
        open_at_first = open_at_first or held()

def pytest_sessionfinish(session):
    told = {"took": list(took.values()), "before": open_at_first, "after": open_at_first and held()}
    with open(f"{os.getpid()}.json", "w") as file:
        json.dump(told, file)
"""


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 4])
def test_five_hundred_tests_with_fresh_brokers_leave_nothing(tmp_path: Path, processes: int) -> None:
    suite, left = tmp_path / "suite", tmp_path / "left"
    suite.mkdir()
    left.mkdir()
    (suite / "test_orders.py").write_text(SUITE)
    (suite / "conftest.py").write_text(CONFTEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "base")]
    command += ["-n", str(processes)] if processes > 1 else []
    environment = {**os.environ, "TMPDIR": str(left), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    if processes == 1:
        environment["PYTEST_ONE_PROCESS"] = "yes"
    done = subprocess.run(command, cwd=suite, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = [json.loads(file.read_text()) for file in suite.glob("*.json")]
    took = max((each["took"] for each in told), key=len)
    assert len(took) == 500
    assert [each["after"] for each in told] == [each["before"] for each in told]
    assert list(left.iterdir()) == []
