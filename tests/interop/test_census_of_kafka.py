"""The census of a directory that Kafka 3.9.1 wrote; also by a stepdown that pip has just installed, alone."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from stepdown.pipeline.command import main
from support.clients_java import JAVA_3_9
from support.deadline import JOB_DEADLINE_S
from support.kafka import ApacheKafka
from support.samples import many

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.java

ROOT = Path(__file__).parents[2]
MESSAGES = many(120, 1000)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The log directory of a Kafka that was stopped: a topic for each codec, some of two segments."""
    with ApacheKafka(tmp_path_factory.mktemp("kafka"), properties={"log.segment.bytes": "100000"}) as kafka:
        for codec in JAVA_3_9.codecs:
            kafka.create_topic(f"orders-{codec}")
            JAVA_3_9.produce(kafka.address, "writer", f"orders-{codec}", 0, MESSAGES, codec)
    yield kafka.log_dir


def check_formats(lines: str, log_dir: Path) -> None:
    rows: list[Mapping[str, object]] = [json.loads(line) for line in lines.splitlines()]
    found = [
        (row["topic"], row["magic"], row["codec"], row["records"], row["bytes"])
        for row in rows
        if row["table"] == "formats"
    ]
    sizes = {
        codec: sum(path.stat().st_size for path in log_dir.glob(f"orders-{codec}-0/*.log")) for codec in JAVA_3_9.codecs
    }
    assert found == [(f"orders-{codec}", 2, codec, len(MESSAGES), sizes[codec]) for codec in sorted(JAVA_3_9.codecs)]


def test_it_counts_what_kafka_wrote(spark: "SparkSession", written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in written.rglob("*")}
    assert main(["census", str(written), "--json", "--exact"]) == 0
    check_formats(capsys.readouterr().out, written)
    assert {path: path.stat().st_mtime_ns for path in written.rglob("*")} == before  # it has only looked


@pytest.mark.slow
@pytest.mark.parametrize("command", [["-m", "stepdown", "pipeline"], ["-m", "stepdown.pipeline"]], ids=" ".join)
def test_a_fresh_install_needs_no_jar_and_no_broker(installed: Path, written: Path, command: list[str]) -> None:
    words = [str(installed), *command, "census", str(written), "--json"]
    environment = os.environ | {"XDG_CACHE_HOME": str(installed.parent), "PYTHONPATH": ""}
    done = subprocess.run(
        words, cwd="/", env=environment, capture_output=True, text=True, timeout=JOB_DEADLINE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    check_formats(done.stdout, written)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with a stepdown built from a copy of what git has."""
    folder = tmp_path_factory.mktemp("fresh")
    python = folder / "venv" / "bin" / "python"
    for words in (
        ["git", "clone", "-q", str(ROOT), str(folder / "clone")],
        [sys.executable, "-m", "venv", str(folder / "venv")],
        [str(python), "-m", "pip", "install", "-q", f"{folder / 'clone'}[spark]"],
    ):
        subprocess.run(words, check=True, timeout=JOB_DEADLINE_S)
    return python
