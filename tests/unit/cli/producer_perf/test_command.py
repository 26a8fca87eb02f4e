"""`stepdown producer-perf` before a broker of its own."""

import json
import re
import threading
from pathlib import Path

import pytest
from stepdown.cli.producer_perf.java_tool import run_java_tool
from stepdown.cli.support.failures import CommandFailure
from support.broker import Stepdown
from support.command import run_command
from support.maven import require_java


def test_it_writes_what_it_was_asked_to_and_tells_how_long_that_took(tmp_path: Path) -> None:
    with Stepdown(tmp_path) as broker:
        broker.create_topic("perf", partitions=2)
        finished = run_command(
            "producer-perf", "-t", "perf", "-n", 500, "-s", 100, "-b", broker.address, "-p", "linger.ms=5", "--json"
        )
    assert finished.exit_code == 0, finished.stderr
    report = json.loads(finished.stdout)
    assert (report["records"], report["sent"], report["failed"]) == (500, 500, 0)
    assert report["latency_ms"]["p50"] <= report["latency_ms"]["p99"] <= report["latency_ms"]["max"]


def test_records_that_failed_do_not_count_as_sent(tmp_path: Path) -> None:
    with Stepdown(tmp_path) as broker:
        broker.create_topic("perf", configs={"max.message.bytes": "200"})
        finished = run_command("producer-perf", "-t", "perf", "-n", 3, "-s", 500, "-b", broker.address)
    assert finished.exit_code == 1
    assert finished.stdout.startswith("0 records sent, 3 failed, 0.0 records/s")
    assert "3 of 3 records failed" in finished.stderr


def test_a_broker_that_dies_ends_it_with_what_was_written(tmp_path: Path) -> None:
    """It went on with the records that were left, two minutes for each 32 MiB of them."""
    segment = tmp_path / "data" / "perf-0" / f"{0:020}.log"
    settings = ("delivery.timeout.ms=500", "request.timeout.ms=200", "linger.ms=5")
    options = [word for each in settings for word in ("-p", each)]
    with Stepdown(tmp_path) as broker:
        broker.create_topic("perf")

        def kill() -> None:
            while not segment.stat().st_size:
                pass
            broker.kill()

        killing = threading.Thread(target=kill)
        killing.start()
        ended = run_command("producer-perf", "-t", "perf", "-n", 10**9, "-b", broker.address, *options)
        killing.join()
    assert ended.exit_code == 1
    assert re.search(r"stepdown: \d+ of \d+ records failed, \d+ were not sent: .* expired: ", ended.stderr)


@pytest.mark.java
def test_it_compares_itself_with_kafkas_own_tool(tmp_path: Path) -> None:
    require_java()
    with Stepdown(tmp_path) as broker:
        broker.create_topic("perf")
        finished = run_command(
            "producer-perf", "-t", "perf", "-n", 300, "-s", 100, "-b", broker.address, "--compare", "java", "--json"
        )
    assert finished.exit_code == 0, finished.stderr
    java = json.loads(finished.stdout)["java"]
    assert java["summary"].startswith("300 records sent") and java["records_per_second"] > 0


def test_a_java_tool_that_fails_is_told_of_by_its_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "kafka-producer-perf-test"
    tool.write_text("#!/bin/sh\necho first >&2; echo no such topic >&2; exit 3\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(CommandFailure, match="java ended with 3: no such topic"):
        run_java_tool(["--topic", "t"])


def test_a_wrong_setting_is_named() -> None:
    finished = run_command("producer-perf", "-t", "perf", "-p", "linger=5")
    assert finished.exit_code == 2
    assert "did you mean linger.ms?" in finished.stderr
