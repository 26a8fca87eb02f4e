"""What a scrape shows of groups, transactions and compaction."""

import asyncio
from pathlib import Path
from typing import Any

from stepdown.broker.broker import Broker
from stepdown.broker.groups.offsets.offset_requests import Committer, NewOffset
from stepdown.broker.metadata.topics import NewTopic
from stepdown.protocol.errors import DiskFault, ErrorCode
from stepdown.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.client import RawClient
from support.clock import ManualClock
from support.files import flip_bit
from support.logs import prepared
from support.running import running_broker
from support.scraping import scraped, value
from support.transactions import SETTINGS, TransactionalClient, make_topic

HOUR_MS = 3_600_000


def committing(group_id: str, *partitions: int) -> tuple[Committer, list[NewOffset]]:
    return Committer(group_id=group_id), [NewOffset(topic="t", partition=each, offset=1) for each in partitions]


async def changes(broker: Broker) -> dict[str, float]:
    return {
        name: await value(broker, "stepdown_group_offset_changes_total", change=name)
        for name in ("committed", "expired", "deleted")
    }


async def test_offsets_that_are_committed_deleted_and_expired_are_counted(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, offsets_retention_minutes=60, **SETTINGS) as broker:
        await make_topic(broker, "t")
        await broker.groups.commit_offsets(*committing("a", 0, 1))
        await broker.groups.commit_offsets(*committing("b", 0))
        assert await value(broker, "stepdown_committed_offsets") == 3
        assert await value(broker, "stepdown_groups_by_state", type="classic", state="Empty") == 2
        await broker.groups.delete_offsets("a", [("t", 0), ("t", 7)])
        assert await changes(broker) == {"committed": 3, "expired": 0, "deleted": 1}
        clock.now += 2 * HOUR_MS
        await broker.groups.expire_offsets()
        assert await changes(broker) == {"committed": 3, "expired": 2, "deleted": 1}
        assert await value(broker, "stepdown_committed_offsets") == 0
        await broker.groups.commit_offsets(*committing("c", 0, 1))
        assert await broker.groups.delete_group("c", broker.turns.begin()) == ErrorCode.NONE
        assert (await changes(broker))["deleted"] == 3


async def test_members_and_rebalances_are_counted_by_the_type_of_the_group(tmp_path: Path) -> None:
    settings: dict[str, Any] = SETTINGS | {
        "group_initial_rebalance_delay_ms": 0,
        "group_coordinator_rebalance_protocols": "classic,consumer",
    }
    async with running_broker(tmp_path, **settings) as broker:
        await make_topic(broker, "t")
        client = await RawClient.connect(broker.address.host, broker.address.port)
        protocols = (JoinGroupRequestProtocol(name="range", metadata=b""),)
        classic = JoinGroupRequest(
            group_id="old",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=protocols,
        )
        assert not (await client.send(classic, 1)).error_code
        modern = ConsumerGroupHeartbeatRequest(
            group_id="new",
            member_epoch=0,
            rebalance_timeout_ms=10_000,
            subscribed_topic_names=("t",),
            topic_partitions=(),
        )
        assert not (await client.send(modern, 0)).error_code
        for kind, state in (("classic", "CompletingRebalance"), ("consumer", "Stable")):
            assert await value(broker, "stepdown_group_rebalances_total", type=kind) == 1
            assert await value(broker, "stepdown_group_members", type=kind, state=state) == 1
        await client.close()


async def test_transactions_are_counted_by_their_result(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, **SETTINGS) as broker:
        assert await value(broker, "stepdown_transactional_ids", state="Ongoing") == 0
        assert broker.transactions_in_use is None
        await make_topic(broker, "a")
        producer = TransactionalClient(await RawClient.connect(broker.address.host, broker.address.port))
        await producer.init(timeout_ms=15_000)
        for is_commit in (True, False, True):
            await producer.add("a", 0)
            await producer.end(commit=is_commit)
            await broker.transactions.await_markers()
        await producer.add("a", 0)
        assert await value(broker, "stepdown_transactional_ids", state="Ongoing") == 1
        clock.now += 15_001
        await broker.transactions.abort_timed_out()
        await broker.transactions.await_markers()
        assert await value(broker, "stepdown_transactions_total", result="committed") == 2
        assert await value(broker, "stepdown_transactions_total", result="aborted") == 2
        assert await value(broker, "stepdown_transactions_timed_out_total") == 1
        assert await value(broker, "stepdown_transactional_ids", state="CompleteAbort") == 1
        await producer.client.close()


async def test_appends_of_the_transaction_coordinator_that_fail_are_counted(tmp_path: Path) -> None:
    async with running_broker(tmp_path, **SETTINGS) as broker:
        await make_topic(broker, "a")
        producer = TransactionalClient(await RawClient.connect(broker.address.host, broker.address.port))
        await producer.init()
        logs = [each.log for each in broker.cluster.topics["__transaction_state"].partitions.values()]
        for log in logs:
            log.fault = DiskFault("the disk is gone")
        assert await producer.add("a", 0) == [ErrorCode.NOT_COORDINATOR]
        for log in logs:
            log.fault = None
        assert await value(broker, "stepdown_transaction_append_errors_total", record="state") == 1
        await producer.client.close()


async def test_the_cleaner_tells_what_it_did_and_what_it_gave_up(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, log_cleaner_backoff_ms=1000) as broker:
        assert not [name for name, _ in await scraped(broker) if name == "stepdown_cleaner_max_dirty_ratio"]
        for name in ("good", "bad"):
            texts = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}
            await broker.topics.create(
                [
                    NewTopic(
                        name=name,
                        partitions=1,
                        settings=broker.topics.configuration.topic_settings(texts),
                        overrides=texts,
                    )
                ]
            )
            log = broker.cluster.partition(name, 0).log
            for _ in range(5):
                records = [Record(offset=n, timestamp=clock.now, key=b"%d" % n, value=b"v") for n in range(10)]
                log.append(prepared(build_batch(records)), leader_epoch=0)
            log.roll()
        size = broker.cluster.partition("good", 0).log.size_bytes
        await asyncio.to_thread(flip_bit, tmp_path / "bad-0" / "00000000000000000000.log", 8 * 100)
        await clock.advance(1000)
        await broker.cleaner.wait_until_idle()
        assert await value(broker, "stepdown_cleaner_runs_total") == 1
        assert await value(broker, "stepdown_cleaner_read_bytes_total") == size
        assert 0 < await value(broker, "stepdown_cleaner_written_bytes_total") < size
        assert await value(broker, "stepdown_cleaner_seconds_total") > 0
        assert await value(broker, "stepdown_cleaner_uncleanable_partitions") == 1
        assert await value(broker, "stepdown_cleaner_max_dirty_ratio") == 0
        clock.now += 300
        assert await value(broker, "stepdown_cleaner_idle_seconds") == 0.3
