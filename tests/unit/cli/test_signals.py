"""A signal ends a command in order: neither a file nor a process of it stays."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from stepdown.bench.servers.process import wait_until
from support.deadline import JOB_DEADLINE_S
from support.interrupts import names_of_processes, run_interrupted

COMMANDS = {
    "bench": ("bench", "fetch", "--sizes", "100", "--codecs", "none", "--versions", "2", "--readers", "1"),
    "scenario": ("scenario", "run", "rebalance-storm"),
    "serve": ("serve", "--temporary"),
}
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_has_made_goes_with_it(tmp_path: Path, command: str, number: signal.Signals) -> None:
    """SIGTERM and SIGHUP left temporary folders, those of `bench` with a broker that went on; ^C printed a traceback of
    the process that makes the load."""
    process = subprocess.Popen(
        ["env", "--default-signal=INT,HUP", sys.executable, "-m", "stepdown", *COMMANDS[command]],
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    began = "stepdown-*/stepdown/data/*" if command == "bench" else "stepdown-*"
    wait_until(lambda: list(tmp_path.glob(began)) or process.poll() is not None, "a file", timeout_s=JOB_DEADLINE_S)
    os.killpg(process.pid, number)
    _, told = process.communicate(timeout=JOB_DEADLINE_S)
    # What serves ends with 0 once it does; Python may die by the SIGINT that it has caught.
    assert process.returncode in (128 + number, *((0, -signal.SIGINT) if command == "serve" else ())), told
    assert "Traceback" not in told
    wait_until(lambda: not names_of_processes(tmp_path), "the end of all processes", timeout_s=JOB_DEADLINE_S)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("imports", [0, 3, 30, 150])
def test_sigterm_at_any_moment_is_no_traceback(imports: int) -> None:
    """It ended the process at once, whatever was to be taken away."""
    words = ["stepdown", "topics", "list", "-b", "127.0.0.1:1"]
    ended = run_interrupted("stepdown.cli.main:main", words, imports, signal.SIGTERM)
    assert (ended.returncode in (143, -signal.SIGTERM), ended.stderr) == (True, b"")


def test_a_second_signal_ends_a_command_that_does_not_end() -> None:
    """There is always a way out, without SIGKILL."""
    script = (
        "import signal, time\n"
        "from stepdown.cli.support import stop_signals\n"
        "from stepdown.cli.support.stop_signals import StopSignals, end_like_ctrl_c, signals_with_default_action\n"
        "with StopSignals(end_like_ctrl_c, signals_with_default_action()):\n"
        "    try: signal.raise_signal(signal.SIGTERM)\n"
        "    except SystemExit: pass\n"
        "    stop_signals.ONE_TIME_S = 0\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=JOB_DEADLINE_S).returncode == -signal.SIGTERM


def test_a_signal_that_is_ignored_stays_so() -> None:
    """`nohup` is there for that."""
    script = (
        "import signal\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from stepdown.cli.support.stop_signals import signals_with_default_action\n"
        "print(*(each.name for each in signals_with_default_action()))"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True, timeout=JOB_DEADLINE_S) == "SIGTERM\n"
