"""The census on Spark: its tables on stdout and as Parquet."""

import json
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from stepdown.pipeline.command import main
from stepdown.protocol.records.layout import Codec
from support.log_directories import write_topic


def test_the_tables_tell_what_is_in_a_directory(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_topic(tmp_path / "in", "plain", partitions=2)
    write_topic(tmp_path / "in", "packed", codec=Codec.ZSTD, segments=1)
    out = tmp_path / "out"
    assert main(["census", str(tmp_path / "in"), "--exact", "--json", "--out", str(out)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    tables = {(row["table"], row["topic"]): row for row in rows}
    sizes = {
        topic: sum(p.stat().st_size for p in (tmp_path / "in").glob(f"{topic}*/*.log")) for topic in ("plain", "packed")
    }
    plain = tables["formats", "plain"]
    assert (plain["magic"], plain["codec"], plain["batches"], plain["records"]) == (2, "none", 16, 160)
    assert plain["bytes"] == tables["conversion", "plain"]["stored_bytes"] == sizes["plain"]
    assert tables["topics", "packed"]["zstd_bytes"] == sizes["packed"]
    assert tables["topics", "plain"]["converted_share"] == 1.0
    assert tables["topics", "packed"]["converted_share"] == 0.0, "zstd is refused, so nobody converts it"
    assert tables["partitions", "plain"]["skew"] == 1.0
    assert spark.read.parquet(str(out / "formats")).count() == 2
    assert spark.read.parquet(str(out / "conversion")).count() == 5
    batches = spark.read.parquet(str(out / "batches")).where("topic = 'plain'")
    assert batches.count() == plain["batches"]
    assert batches.groupBy().sum("stored_bytes", "converted_bytes").first() == (
        plain["bytes"],
        tables["conversion", "plain"]["converted_bytes"],
    )
    page = (out / "report.html").read_text()
    assert re.findall(r"<h2>([^<?]+)</h2>", page) == [
        "Formats and codecs",
        "What the old clients cost",
        "How even the partitions are",
        "How old it is",
        "What changes with Kafka 4",
        "What conversion takes",
    ]
    assert page.count("<svg") == 4
    assert "s of CPU in stepdown&#x27;s kernel" in page
    assert {path.name for path in out.glob("*.png")} == {"formats.png", "topics.png", "days.png", "conversion.png"}


def test_damage_is_a_table(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_topic(tmp_path / "in", "topic", segments=3)
    (tmp_path / "in" / "topic-0" / f"{40:020}.log").unlink()
    out = tmp_path / "out"
    assert main(["census", str(tmp_path / "in"), "--json", "--html", str(out)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (damage,) = [row for row in rows if row["table"] == "damage"]
    assert (damage["topic"], damage["kind"], damage["firstOffset"], damage["endOffset"]) == ("topic", "missing", 40, 80)
    assert [row["records"] for row in rows if row["table"] == "formats"] == [80]
    assert "1 missing; in topic-0" in out.read_text()


def test_no_such_directory_is_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["census", str(tmp_path / "absent")]) == 2
    assert capsys.readouterr().err == f"stepdown-pipeline: {tmp_path}/absent: no such log directory\n"


def test_a_directory_without_logs_is_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spark was started, to print tables without rows."""
    assert main(["census", str(tmp_path)]) == 2
    assert f"{tmp_path}: no logs here" in capsys.readouterr().err
