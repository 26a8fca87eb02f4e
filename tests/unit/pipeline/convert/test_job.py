"""The whole job on Spark: a directory that brokers open, verified, gone on with, refused where it has to be."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from stepdown.pipeline.command import main
from stepdown.protocol.records.layout import Codec
from stepdown.storage.directories.log_manager import LogManager
from stepdown.storage.files.files import Files
from stepdown.storage.log.log_config import LogConfig
from support.clock import ManualClock
from support.log_directories import write_topic
from support.logs import read_all
from support.segments import START_MS


def test_a_converted_directory_opens_and_a_second_run_skips_it(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_topic(tmp_path / "in", "topic", codec=Codec.GZIP, partitions=2)
    out = tmp_path / "out"
    words = ["convert", str(tmp_path / "in"), str(out), "--magic", "1", "--verify", "--json"]
    assert main(words) == 0
    said = capsys.readouterr()
    assert "4 segments to convert, 0 are done" in said.err
    assert "verified: offsets, keys, values and timestamps are equal" in said.err
    assert '"records": 160' in said.out
    manifest = pq.read_table(out / "manifest.parquet").to_pylist()
    assert [(row["topic"], row["partition"], row["segment"], row["records"]) for row in manifest] == [
        ("topic", partition, base, 40) for partition in (0, 1) for base in (0, 40)
    ]
    assert main(words) == 0
    assert "0 segments to convert, 4 are done" in capsys.readouterr().err
    assert main([*words[:4], "0"]) == 2
    assert "holds a conversion to magic 1" in capsys.readouterr().err
    logs = LogManager([str(out)], Files(), ManualClock(START_MS), LogConfig())
    log = logs.logs["topic", 1]
    assert [record.offset for record in read_all(log)] == list(range(80))
    logs.shutdown()
    half = (out / "manifest.parquet").read_bytes()[:100]
    (out / "manifest.parquet").write_bytes(half)
    assert main(words) == 2, "it was a traceback"
    assert "manifest.parquet cannot be read (" in capsys.readouterr().err


def test_bad_usage_is_one_line(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(tmp_path / "absent"), str(tmp_path / "out"), "--magic", "1"]) == 2
    assert capsys.readouterr().err == f"stepdown-pipeline: {tmp_path}/absent: no such log directory\n"
    write_topic(tmp_path / "in", "topic")
    assert main(["convert", str(tmp_path / "in"), str(tmp_path / "in"), "--magic", "1"]) == 2
    assert main(["convert", str(tmp_path / "in"), str(tmp_path), "--magic", "1"]) == 2
    assert "is not empty, and no conversion" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "in"), str(tmp_path / "out"), "--magic", "1", "--topics", "nope"]) == 2
    assert "no such topic: nope" in capsys.readouterr().err
