"""`stepdown producer-perf` before a broker of its own."""

import json
from pathlib import Path

from support.broker import Stepdown
from support.command import run_command


def test_it_writes_what_it_was_asked_to_and_tells_how_long_that_took(tmp_path: Path) -> None:
    with Stepdown(tmp_path) as broker:
        broker.create_topic("perf", partitions=2)
        finished = run_command(
            "producer-perf", "-t", "perf", "-n", 500, "-s", 100, "-b", broker.address, "-p", "linger.ms=5", "--json"
        )
    assert finished.exit_code == 0, finished.stderr
    report = json.loads(finished.stdout)
    assert (report["records"], report["failed"]) == (500, 0)
    assert report["latency_ms"]["p50"] <= report["latency_ms"]["p99"] <= report["latency_ms"]["max"]


def test_a_wrong_setting_is_named() -> None:
    finished = run_command("producer-perf", "-t", "perf", "-p", "linger=5")
    assert finished.exit_code == 2
    assert "linger" in finished.stderr
