"""The archive of a broker: each record once after appends and after a crash between writing and committing."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from stepdown.pipeline.archive.broker_archive import CHECKPOINT, BrokerArchive, archive_records, note_or_check_identity
from stepdown.pipeline.archive.log_archive import Format
from stepdown.pipeline.archive.partitioning import PartitionBy
from stepdown.pipeline.command import main
from stepdown.pipeline.failures import BadUsage
from support.archiving import archived, produce
from support.broker import BrokerProcess, broker_under_test
from support.spark_jars import require_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = 300


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    require_jars()
    broker = broker_under_test(tmp_path_factory.mktemp("broker"))
    broker.start()
    yield broker
    broker.stop()


def lose_newest(folder: Path) -> None:
    """Remove the entry of the highest batch in a checkpoint or in a sink's own log, and its checksum."""
    newest = max((path for path in folder.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink()


def after_sinks_commit(out: Path) -> None:
    """Leave what a crash leaves after the sink has committed and before the checkpoint has."""
    lose_newest(out / CHECKPOINT / "commits")


def before_sinks_commit(out: Path) -> None:
    """Leave what a crash leaves after the files of a Parquet batch were written and before they count."""
    after_sinks_commit(out)
    lose_newest(out / "_spark_metadata")


CRASHES: dict[Format, tuple[Callable[[Path], None], ...]] = {
    "parquet": (after_sinks_commit, before_sinks_commit),
    "delta": (after_sinks_commit,),
}


@pytest.mark.java
@pytest.mark.parametrize("kind", CRASHES)
def test_appends_and_crashes_while_committing_lose_and_repeat_nothing(
    spark: "SparkSession", broker: BrokerProcess, tmp_path: Path, kind: Format
) -> None:
    topic, out = f"kept-{kind}", tmp_path / "out"
    broker.create_topic(topic, partitions=2)
    archive = BrokerArchive(out=str(out), format=kind, bootstrap=broker.address, topics=topic, max_offsets=200)
    produce(broker.address, topic, 2, RECORDS)
    assert archive_records(spark, archive)["rows"] == RECORDS
    for crash in CRASHES[kind]:
        crash(out)
        produce(broker.address, topic, 2, RECORDS)
        archive_records(spark, archive)
    produced = RECORDS * (1 + len(CRASHES[kind]))
    assert archived(spark, out, kind) == (produced, produced)


@pytest.mark.java
@pytest.mark.parametrize(("kind", "partition_by"), [("delta", "month"), ("parquet", "topic")])
def test_files_of_a_broker_lie_by_month_or_topic_and_those_of_delta_are_joined(
    spark: "SparkSession",
    broker: BrokerProcess,
    tmp_path: Path,
    kind: Format,
    partition_by: PartitionBy,
    capsys: pytest.CaptureFixture[str],
) -> None:
    topic, out = f"by-{partition_by}", tmp_path / "out"
    broker.create_topic(topic, partitions=2)
    archive = BrokerArchive(
        out=str(out), format=kind, bootstrap=broker.address, topics=topic, max_offsets=100, partition_by=partition_by
    )
    note_or_check_identity(archive)
    produce(broker.address, topic, 2, RECORDS)
    archive_records(spark, archive)
    files = [path for path in (out / f"topic={topic}").rglob("*.parquet") if not path.name.startswith(".")]
    assert len(files) > 2
    is_month = {path.parent.name.startswith("month=2") and path.parent.name.endswith("-01") for path in files}
    assert is_month == {partition_by == "month"}
    capsys.readouterr()
    if kind == "parquet":
        assert main(["compact", str(out)]) == 2
        assert "_spark_metadata names its files" in capsys.readouterr().err
    else:
        assert main(["compact", str(out), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["became"] <= 2  # a month may end meanwhile
    assert archived(spark, out, kind) == (RECORDS, RECORDS)


def test_an_archive_of_something_else_is_left_alone(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    archive = BrokerArchive(out=out, format="parquet", bootstrap="127.0.0.1:9092")
    note_or_check_identity(archive)
    note_or_check_identity(replace(archive, max_offsets=5))
    for other in ({"bootstrap": "127.0.0.1:9093"}, {"format": "delta"}, {"isolation_level": "read_committed"}):
        with pytest.raises(BadUsage, match="archive of something else"):
            note_or_check_identity(replace(archive, **other))  # type: ignore[arg-type]
    assert json.loads((tmp_path / "out" / "_archive.json").read_text())["format"] == "parquet"
    shutil.rmtree(out)
    note_or_check_identity(replace(archive, format="delta"))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["out"], "name a log directory or --bootstrap"),
        (["nowhere", "out"], "no such log directory: nowhere"),
        (["--bootstrap", "127.0.0.1:1", "logs", "out"], "name a log directory or --bootstrap"),
        (["--bootstrap", "127.0.0.1:1", "--lineage", "out"], "--lineage is told by segments"),
        ([".", "out", "--max-offsets", "0"], "--max-offsets is a number above 0"),
        ([".", "out", "--trigger", "often"], "--trigger takes once or a number of seconds, found 'often'"),
    ],
)
def test_what_cannot_be_archived_is_bad_usage(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["archive", *arguments]) == 2
    assert reason in capsys.readouterr().err
