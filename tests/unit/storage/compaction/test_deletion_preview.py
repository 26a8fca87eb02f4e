"""What a preview says is what a broker then deletes."""

from pathlib import Path

import pytest
from stepdown.broker.metadata.configuration import log_config_of
from stepdown.config import Layers, topic_settings
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import Codec
from stepdown.storage.compaction.deletion_preview import preview_deletion
from stepdown.storage.files.files import Files
from stepdown.storage.log.log import Log
from stepdown.storage.log.log_config import LogConfig
from support.admin import create, write
from support.client import RawClient
from support.clock import ManualClock
from support.record_sets import NOW, record_set
from support.running import running_broker

DAY_MS = 86_400_000
POLICIES = {
    "nothing is old": {"retention.ms": str(2 * DAY_MS)},
    "all is old": {"retention.ms": "1000"},
    "too much": {"retention.ms": "-1", "retention.bytes": "1000"},
    "compaction": {"cleanup.policy": "compact"},
    "compaction of what retention leaves": {
        "cleanup.policy": "compact,delete",
        "retention.ms": "-1",
        "retention.bytes": "1000",
    },
}
COMPACT = {"cleanup.policy": "compact"}
RATIO = {"min.cleanable.dirty.ratio": "0"}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
async def test_a_broker_deletes_what_the_preview_says(tmp_path: Path, policy: dict[str, str]) -> None:
    clock = ManualClock(NOW)
    async with (
        running_broker(tmp_path, clock=clock, log_retention_ms=-1) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await create(client, "orders", configs={"segment.bytes": "400"})
        await write(client, "orders", times=20)
        log = broker.cluster.topics["orders"].partitions[0].log
        clock.now += DAY_MS
        configs = {"segment.bytes": "400", **RATIO, **policy}
        config = log_config_of(broker.topics.configuration.topic_settings(configs))
        bytes_before = log.segments.size_bytes

        found = preview_deletion(Files(read_only=True), log.directory, config, clock.now)

        assert log.segments.size_bytes == bytes_before, "a preview changes nothing"
        broker.topics.configure_topic("orders", configs)
        await broker.maintenance.apply_retention()
        await broker.cleaner._delete_old_segments_of_compacted_logs()
        assert (log.log_start_offset, bytes_before - log.segments.size_bytes) == (
            found.deleted_by_retention,
            found.deleted_by_retention_bytes,
        )
        await broker.cleaner.clean_all()
        assert log.log_end_offset - log.log_start_offset - records_in(log) == found.deleted_by_compaction


async def test_what_was_compacted_long_ago_does_not_count(tmp_path: Path) -> None:
    """Offsets were counted, so that a log that had been compacted seemed to lose most of its records again."""
    clock = ManualClock(NOW)
    async with (
        running_broker(tmp_path, clock=clock, log_retention_ms=-1) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        configs = {"segment.bytes": "400", "cleanup.policy": "compact", **RATIO}
        await create(client, "orders", configs=configs)
        await write(client, "orders", times=20)
        log = broker.cluster.topics["orders"].partitions[0].log
        compact = log_config_of(broker.topics.configuration.topic_settings(configs))
        small = log_config_of(broker.topics.configuration.topic_settings({"retention.bytes": "0"}))
        before = records_in(log)
        first = preview_deletion(Files(read_only=True), log.directory, compact, clock.now)
        await broker.cleaner.clean_all()

        again = preview_deletion(Files(read_only=True), log.directory, compact, clock.now)
        cut = preview_deletion(Files(read_only=True), log.directory, small, clock.now)

        assert (first.deleted_by_compaction, again.deleted_by_compaction) == (before - records_in(log), 0)
        assert cut.deleted_by_retention == records_in(log)


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_records_of_every_format_are_counted(tmp_path: Path, magic: int, codec: Codec) -> None:
    """Three records of one key: retention takes all three of them, compaction two."""
    first = record_set(magic, codec)
    (tmp_path / "00000000000000000000.log").write_bytes(first)
    (tmp_path / "00000000000000000003.log").write_bytes(b"")
    files = Files(read_only=True)

    cut = preview_deletion(files, str(tmp_path), LogConfig(retention_bytes=0), NOW)
    compacted = preview_deletion(files, str(tmp_path), log_config_of(topic_settings(Layers(), COMPACT)), NOW)

    assert (cut.deleted_by_retention, cut.deleted_by_retention_bytes) == (3, len(first))
    assert (compacted.deleted_by_retention, compacted.deleted_by_compaction) == (0, 2)


def records_in(log: Log) -> int:
    files = [Path(segment.path(".log")) for segment in log.segments]
    return sum(len(list(batch.records())) for file in files for batch in iter_batches(file.read_bytes()))
