"""What a preview says is what a broker then deletes."""

from pathlib import Path

import pytest
from stepdown.broker.metadata.configuration import log_config
from stepdown.protocol.records.batches import iter_batches
from stepdown.storage.compaction.deletion_preview import preview_deletion
from stepdown.storage.files.files import Files
from stepdown.storage.log.log import Log
from support.admin import create, write
from support.client import RawClient
from support.clock import ManualClock
from support.record_sets import NOW
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
        config = log_config(broker.topics.configuration.topic_settings(configs))
        bytes_before = log.segments.size_bytes

        found = preview_deletion(Files(read_only=True), log.directory, config, clock.now)

        assert log.segments.size_bytes == bytes_before, "a preview changes nothing"
        broker.topics.configure("orders", configs)
        await broker._upkeep._retain()
        await broker.cleaner._retain()
        assert (log.log_start_offset, bytes_before - log.segments.size_bytes) == (
            found.retained_away,
            found.retained_away_bytes,
        )
        await broker.cleaner.clean_all()
        assert log.log_end_offset - log.log_start_offset - records_in(log) == found.compacted_away


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
        compact = log_config(broker.topics.configuration.topic_settings(configs))
        small = log_config(broker.topics.configuration.topic_settings({"retention.bytes": "0"}))
        before = records_in(log)
        first = preview_deletion(Files(read_only=True), log.directory, compact, clock.now)
        await broker.cleaner.clean_all()

        again = preview_deletion(Files(read_only=True), log.directory, compact, clock.now)
        cut = preview_deletion(Files(read_only=True), log.directory, small, clock.now)

        assert (first.compacted_away, again.compacted_away) == (before - records_in(log), 0)
        assert cut.retained_away == records_in(log)


def records_in(log: Log) -> int:
    files = [Path(segment.path(".log")) for segment in log.segments]
    return sum(len(list(batch.records())) for file in files for batch in iter_batches(file.read_bytes()))
