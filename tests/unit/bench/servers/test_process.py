"""Child processes."""

import sys
from pathlib import Path

import pytest
from stepdown.bench.failures import BenchFailure
from stepdown.bench.servers.process import Process, text_of, wait_until

WAITS = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
print("up", flush=True)
signal.pause()
"""


def test_it_is_stopped_with_a_signal_and_tells_its_code(tmp_path: Path) -> None:
    process = Process([sys.executable, "-c", WAITS], tmp_path / "out")
    wait_until(lambda: "up" in process.log, "it is up")
    assert process.usage.rss_bytes() > 0
    assert process.usage.cpu_seconds() >= 0
    assert process.stop() == 3
    assert process.has_ended


def test_what_it_said_is_kept_over_its_starts(tmp_path: Path) -> None:
    for word in ("first", "second"):
        Process([sys.executable, "-c", f"print('{word}')"], tmp_path / "out").popen.wait()
    assert text_of(tmp_path / "out").split() == ["first", "second"]


def test_before_it_wrote_anything_its_log_is_empty(tmp_path: Path) -> None:
    assert text_of(tmp_path / "missing") == ""


def test_waiting_ends_with_what_was_waited_for() -> None:
    with pytest.raises(BenchFailure, match="the moon turns blue"):
        wait_until(lambda: False, "the moon turns blue", timeout_s=0)
