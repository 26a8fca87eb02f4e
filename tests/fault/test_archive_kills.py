"""An archive holds each record once, however often its job is killed: driver, JVM with its executor, or both."""

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.archiving import archived, produce
from support.broker import broker_under_test
from support.jobs import VICTIMS, JobProcess, Victim
from support.spark_jars import require_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.java

TOPIC, PARTITIONS = "kept", 2
RECORDS_A_ROUND = 1000
OFFSETS_A_BATCH = "500"
MOST_FILES_OF_A_ROUND = 24
"""About what the two batches of a round write: a kill comes anywhere in one or between them."""


def archive_under_kills(
    folder: Path, kind: str, kills: int, victims: tuple[Victim, ...], seed: int
) -> tuple[int, Path]:
    """How many records were produced while the job was killed so often, and where its archive is."""
    require_jars()
    rng = random.Random(seed)
    out, log = folder / "archive", folder / "archive.log"
    produced = killed = 0
    broker = broker_under_test(folder / "broker")
    broker.start()
    broker.create_topic(TOPIC, partitions=PARTITIONS)
    arguments = ["--bootstrap", broker.address, "--format", kind, "--max-offsets", OFFSETS_A_BATCH, str(out)]
    while killed < kills:
        produce(broker.address, TOPIC, PARTITIONS, RECORDS_A_ROUND)
        produced += RECORDS_A_ROUND
        run = JobProcess("archive", arguments, out, log)
        killed += run.kill_when_written(rng.randint(1, MOST_FILES_OF_A_ROUND), victims[killed % len(victims)])
    JobProcess("archive", arguments, out, log).succeed()
    broker.stop()
    return produced, out


def test_two_kills_lose_and_repeat_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    produced, out = archive_under_kills(tmp_path, "parquet", kills=2, victims=("all", "jvm"), seed=1)
    assert archived(spark, out, "parquet") == (produced, produced)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_twenty_kills_lose_and_repeat_nothing(spark: "SparkSession", tmp_path: Path, kind: str) -> None:
    produced, out = archive_under_kills(tmp_path, kind, kills=20, victims=VICTIMS, seed=20)
    assert archived(spark, out, kind) == (produced, produced)
