"""Brokers in one process: acks, high watermark, ISR, elections, truncation, reading from followers.

The three scenarios of the blog that everyone reads about acks and min.insync.replicas are among them.
"""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker_cluster import BrokerCluster, Election
from stepdown.broker.handlers import (
    delete_records,
    find_coordinator,
    list_offsets,
    metadata,
    offset_commit,
    offset_fetch,
    produce,
)
from stepdown.protocol.acls import ANY_USER, WILDCARD, AclOperation, PatternType, PermissionType, ResourceType
from stepdown.protocol.api import ApiKey
from stepdown.protocol.errors import ApiError, DiskFault, ErrorCode
from stepdown.protocol.messages import delete_records as dr
from stepdown.protocol.messages import find_coordinator as fc
from stepdown.protocol.messages import list_offsets as lo
from stepdown.protocol.messages import metadata as md
from stepdown.protocol.messages import offset_commit as oc
from stepdown.protocol.messages import offset_fetch as of
from stepdown.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.admin import described
from support.brokers import batch_of, begin_produce, call, create_topic, fetched, produced, running_cluster, values_in
from support.client import RawClient
from support.clock import ManualClock, settle
from support.kafka_authorizing import AUTHORIZER

NONE = ErrorCode.NONE
LAG_MS = 30_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def cluster(tmp_path: Path, clock: ManualClock) -> AsyncIterator[BrokerCluster]:
    async with running_cluster(tmp_path, clock=clock) as running:
        await create_topic(running, "t", min_insync_replicas=2)
        yield running


def ends(cluster: BrokerCluster) -> dict[int, tuple[int, int]]:
    """Log end and high watermark by broker."""
    return {
        node_id: (partition.log.log_end_offset, partition.high_watermark)
        for node_id, broker in cluster.brokers.items()
        for partition in [broker.cluster.partition("t", 0)]
    }


# The blog's scenarios


async def test_with_all_in_sync_acks_all_is_answered_when_all_have_it(cluster: BrokerCluster) -> None:
    assert await produced(cluster.brokers[1], "t", "a", "b") == (NONE, 0)
    await settle()
    assert ends(cluster) == {1: (2, 2), 2: (2, 2), 3: (2, 2)}
    assert cluster.isr("t", 0) == (1, 2, 3)


async def test_a_slow_follower_is_waited_for_until_it_leaves_the_isr(
    cluster: BrokerCluster, clock: ManualClock
) -> None:
    cluster.pause_follower(3)
    waiting = await begin_produce(cluster.brokers[1], "t", "a", timeout_ms=120_000)
    await clock.advance(LAG_MS)
    assert not waiting.done()
    await clock.advance(LAG_MS // 2)
    found = await waiting
    assert found is not None
    assert (found.error_code, cluster.isr("t", 0)) == (NONE, (1, 2))
    cluster.resume_follower(3)
    await settle()
    assert cluster.isr("t", 0) == (1, 2, 3)


async def test_a_follower_with_so_many_bytes_a_second_is_as_late(cluster: BrokerCluster, clock: ManualClock) -> None:
    cluster.slow_follower(3, bytes_per_second=1000)
    await begin_produce(cluster.brokers[1], "t", "x" * 2000, acks=1)
    await clock.advance(1)
    assert ends(cluster)[3][0] == 1
    waiting = await begin_produce(cluster.brokers[1], "t", "late")
    await clock.advance(1900)
    assert not waiting.done()
    await clock.advance(500)
    found = await waiting
    assert found is not None and found.error_code == NONE
    cluster.slow_follower(3)
    assert await produced(cluster.brokers[1], "t", "at once") == (NONE, 2)


async def test_waiting_for_a_slow_follower_may_take_too_long(cluster: BrokerCluster, clock: ManualClock) -> None:
    cluster.pause_follower(3)
    waiting = await begin_produce(cluster.brokers[1], "t", "a", timeout_ms=1000)
    await clock.advance(1000)
    found = await waiting
    assert found is not None
    assert (found.error_code, found.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 0)


async def test_a_leader_alone_refuses_acks_all_and_hides_what_others_write(
    cluster: BrokerCluster, clock: ManualClock
) -> None:
    assert await produced(cluster.brokers[1], "t", "a") == (NONE, 0)
    await cluster.kill_broker(2)
    await cluster.kill_broker(3)
    await clock.advance(9000)
    assert cluster.isr("t", 0) == (1,)
    code, _ = await produced(cluster.brokers[1], "t", "b")
    assert code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert await produced(cluster.brokers[1], "t", "c", acks=1) == (NONE, 1)
    assert values_in((await fetched(cluster.brokers[1], "t")).records) == {0: "a"}
    assert ends(cluster) == {1: (2, 1)}
    await cluster.start_broker(2)
    await settle()
    assert values_in((await fetched(cluster.brokers[1], "t")).records) == {0: "a", 1: "c"}


async def test_records_whose_leader_moves_while_a_worker_has_them_are_refused(
    cluster: BrokerCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = cluster.brokers[1]
    run_in_worker = broker.run_in_worker

    async def heavy_while_the_leader_moves(work: Any, *arguments: Any) -> Any:
        cluster.move_leader("t", 0, 2)
        return await run_in_worker(work, *arguments)

    monkeypatch.setattr(broker, "run_in_worker", heavy_while_the_leader_moves)
    monkeypatch.setattr("stepdown.broker.produce.append.prepare_inline", lambda *_, **__: None)
    assert (await produced(broker, "t", "a", acks=1))[0] == ErrorCode.NOT_LEADER_OR_FOLLOWER
    monkeypatch.undo()
    assert await produced(cluster.brokers[2], "t", "b") == (NONE, 0)
    assert ends(cluster) == {1: (1, 1), 2: (1, 1), 3: (1, 1)}


async def test_a_leader_that_is_replaced_by_the_fetch_of_a_follower_hands_on_what_it_wrote_in_its_own_epoch(
    tmp_path: Path, clock: ManualClock
) -> None:
    async with running_cluster(tmp_path, 4, clock=clock) as cluster:
        await create_topic(cluster, "t", replicas=(1, 3, 2, 4))
        assert await produced(cluster.brokers[1], "t", "a") == (NONE, 0)
        cluster.slow_follower(3, delay_ms=50)
        cluster.shrink_isr("t", 0, 2)
        cluster.brokers[1].topics.reassign("t", 0, (3, 2, 4))
        for node_id in (1, 3):  # 2 fetches what is sent to 1, and 3 leads; it has not fetched that itself
            assert cluster.leader("t", 0) == node_id
            data = PartitionProduceData(index=0, records=memoryview(batch_of(f"by {node_id}")))
            request = ProduceRequest(
                acks=1, timeout_ms=0, topic_data=(TopicProduceData(name="t", partition_data=(data,)),)
            )
            response = produce.handle(cluster.brokers[node_id], request, call(ApiKey.PRODUCE, 11, request))
            assert response.responses[0].partition_responses[0].error_code == NONE
        await clock.advance(1000)
        logs = [broker.cluster.partition("t", 0).log for node_id, broker in cluster.brokers.items() if node_id != 1]
        found = [log.read(0, 1 << 20, below=log.log_end_offset) for log in logs]
        assert len({each.read(0, each.size_bytes) for each in found}) == 1


async def test_a_follower_goes_on_after_its_fetch_met_a_fault_of_the_controller(
    cluster: BrokerCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **options: object) -> None:
        raise DiskFault("no space")

    cluster.shrink_isr("t", 0, 2)
    with monkeypatch.context() as full:
        full.setattr(type(cluster.controller.store), "save", fail)
        assert (await produced(cluster.brokers[1], "t", "a", acks=1))[0] == NONE
    cluster.resume_follower(2)
    await settle()
    assert await produced(cluster.brokers[1], "t", "b") == (NONE, 1)
    await settle()
    assert {end for end, _ in ends(cluster).values()} == {2}
    assert set(cluster.isr("t", 0)) == {1, 2, 3}


async def test_a_follower_whose_log_is_not_where_the_leader_writes_fetches(cluster: BrokerCluster) -> None:
    assert await produced(cluster.brokers[1], "t", "a") == (NONE, 0)
    cluster.brokers[3].cluster.partition("t", 0).log.truncate_to(0)  # behind its leader's back
    assert await produced(cluster.brokers[1], "t", "b") == (NONE, 1)
    await settle()
    assert {end for end, _ in ends(cluster).values()} == {2}


async def test_what_only_the_leader_had_is_lost_with_acks_1_and_never_acknowledged_with_all(
    cluster: BrokerCluster, clock: ManualClock
) -> None:
    cluster.pause_follower(2)
    cluster.pause_follower(3)
    assert await produced(cluster.brokers[1], "t", "lost", acks=1) == (NONE, 0)
    waiting = await begin_produce(cluster.brokers[1], "t", "unsure")
    await settle()
    assert not waiting.done()
    cluster.move_leader("t", 0, 2)
    found = await waiting
    assert found is not None
    assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert found.current_leader.leader_id == 2
    cluster.resume_follower(3)
    assert await produced(cluster.brokers[2], "t", "kept") == (NONE, 0)
    await settle()
    assert ends(cluster) == {1: (1, 1), 2: (1, 1), 3: (1, 1)}
    assert values_in((await fetched(cluster.brokers[1], "t")).records) == {0: "kept"}


# Brokers that come and go


async def test_a_stopped_broker_hands_over_and_comes_back_on_its_ports(cluster: BrokerCluster) -> None:
    await produced(cluster.brokers[1], "t", "a")
    address = cluster.brokers[1].address
    await cluster.stop_broker(1)
    assert (cluster.leader("t", 0), cluster.isr("t", 0)) == (2, (2, 3))
    assert await produced(cluster.brokers[2], "t", "b") == (NONE, 1)
    await cluster.start_broker(1)
    await settle()
    assert cluster.brokers[1].address == address
    assert (cluster.leader("t", 0), set(cluster.isr("t", 0))) == (2, {1, 2, 3})
    cluster.elect("t", 0)
    assert cluster.leader("t", 0) == 1
    assert values_in((await fetched(cluster.brokers[1], "t")).records) == {0: "a", 1: "b"}


async def test_access_rules_and_quotas_hold_at_each_broker(tmp_path: Path) -> None:
    """They held only at the broker that had been asked: who was denied could go to another one."""
    settings = {"authorizer_class_name": AUTHORIZER, "allow_everyone_if_no_acl_found": "true"}
    async with running_cluster(tmp_path, **settings) as cluster:
        await create_topic(cluster, "t")
        cluster.controller.hold_metadata(3)
        async with await connected(cluster, 1) as client:
            denied = AclCreation(
                resource_type=ResourceType.TOPIC,
                resource_name="t",
                resource_pattern_type=PatternType.LITERAL,
                principal=ANY_USER,
                host=WILDCARD,
                operation=AclOperation.ALL,
                permission_type=PermissionType.DENY,
            )
            assert (await client.send(CreateAclsRequest(creations=[denied]), 3)).results[0].error_code == NONE
            quota = EntryData(
                entity=[EntityData(entity_type="user", entity_name=None)],
                ops=[OpData(key="producer_byte_rate", value=1.0, remove=False)],
            )
            assert (await client.send(AlterClientQuotasRequest(entries=[quota]), 1)).entries[0].error_code == NONE
        denied_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert await error_and_quota(cluster) == {1: (denied_code, 1.0), 2: (denied_code, 1.0), 3: (NONE, None)}
        cluster.controller.release_metadata(3)
        await cluster.kill_broker(2)
        await cluster.start_broker(2)
        assert await error_and_quota(cluster) == dict.fromkeys((1, 2, 3), (denied_code, 1.0))


async def connected(cluster: BrokerCluster, node_id: int) -> RawClient:
    address = cluster.brokers[node_id].address
    return await RawClient.connect(address.host, address.port)


async def error_and_quota(cluster: BrokerCluster) -> dict[int, tuple[int, float | None]]:
    """What each broker answers about the topic `t`, and what it lets users produce."""
    found = {}
    for node_id, broker in sorted(cluster.brokers.items()):
        async with await connected(cluster, node_id) as client:
            topic = await described(client, "t")
        quota = broker.quotas.producer_byte_rate.find("ANONYMOUS", "")
        found[node_id] = (topic.error_code, None if quota is None else quota.bound)
    return found


async def test_a_killed_broker_leaves_no_thread(cluster: BrokerCluster) -> None:
    """Its loop watch stayed behind."""
    watches = [thread for thread in threading.enumerate() if thread.name == "loop watch"]
    await cluster.kill_broker(3)
    for _ in range(1000):
        left = [thread for thread in watches if thread.is_alive()]
        if len(left) < len(watches):
            break
        await asyncio.to_thread(left[0].join, 0.01)
    assert len(left) == len(watches) - 1


async def test_the_last_in_sync_replica_is_waited_for(cluster: BrokerCluster, clock: ManualClock) -> None:
    await cluster.stop_broker(2)
    await cluster.stop_broker(3)
    await cluster.kill_broker(1)
    await clock.advance(9000)
    await cluster.start_broker(2)
    assert (cluster.leader("t", 0), cluster.isr("t", 0)) == (-1, (1,))
    request = md.MetadataRequest(topics=(md.MetadataRequestTopic(name="t"),))
    told = await metadata.handle(cluster.brokers[2], request, call(ApiKey.METADATA, 9, request))
    (partition,) = told.topics[0].partitions
    assert (partition.error_code, partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert sorted(partition.offline_replicas) == [1, 3]
    with pytest.raises(ApiError) as refused:
        cluster.elect("t", 0)
    assert refused.value.code == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    await cluster.start_broker(1)
    assert cluster.leader("t", 0) == 1


async def test_an_unclean_election_loses_what_was_acknowledged(cluster: BrokerCluster, clock: ManualClock) -> None:
    cluster.pause_follower(3)
    waiting = await begin_produce(cluster.brokers[1], "t", "a", timeout_ms=120_000)
    await clock.advance(LAG_MS + LAG_MS // 2)
    assert (await waiting).error_code == NONE  # type: ignore[union-attr]
    await cluster.stop_broker(2)
    await cluster.kill_broker(1)
    await clock.advance(9000)
    cluster.elect("t", 0, Election.UNCLEAN)
    assert (cluster.leader("t", 0), cluster.isr("t", 0)) == (3, (3,))
    await cluster.start_broker(1)
    await settle()
    assert ends(cluster) == {1: (0, 0), 3: (0, 0)}


async def test_a_paused_broker_is_fenced_and_steps_down_when_it_goes_on(
    cluster: BrokerCluster, clock: ManualClock
) -> None:
    cluster.pause_broker(1)
    await clock.advance(9000)
    assert (cluster.leader("t", 0), cluster.isr("t", 0)) == (2, (2, 3))
    assert await produced(cluster.brokers[2], "t", "a") == (NONE, 0)
    cluster.resume_broker(1)
    await settle()
    assert await produced(cluster.brokers[1], "t", "b") == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert set(cluster.isr("t", 0)) == {1, 2, 3}


async def test_a_broker_with_old_metadata_believes_that_it_leads(cluster: BrokerCluster) -> None:
    cluster.hold_metadata(1)
    cluster.move_leader("t", 0, 2)
    assert await produced(cluster.brokers[1], "t", "lost", acks=1) == (NONE, 0)
    waiting = await begin_produce(cluster.brokers[1], "t", "never")
    await settle()
    assert not waiting.done()
    cluster.release_metadata(1)
    assert (await waiting).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER  # type: ignore[union-attr]
    await settle()
    assert ends(cluster)[1] == (0, 0)


async def test_a_leader_with_old_metadata_knows_whom_it_has_taken_into_the_isr(cluster: BrokerCluster) -> None:
    """It went on without who was in sync by its own wish: two leaders committed two records at one offset."""
    cluster.shrink_isr("t", 0, 3)
    cluster.hold_metadata(1)
    assert await produced(cluster.brokers[1], "t", "a") == (NONE, 0)
    await settle()
    assert set(cluster.isr("t", 0)) == {1, 2, 3}
    cluster.pause_follower(3)
    cluster.fence_broker(3)
    await begin_produce(cluster.brokers[1], "t", "b", acks=1)
    await settle()
    assert ends(cluster)[1] == (2, 1)


async def test_a_cluster_comes_back_as_it_went(tmp_path: Path) -> None:
    async with running_cluster(tmp_path) as cluster:
        await create_topic(cluster, "t")
        await produced(cluster.brokers[1], "t", "a")
    async with running_cluster(tmp_path) as cluster:
        await settle()
        assert set(cluster.isr("t", 0)) == {1, 2, 3}
        leader = cluster.brokers[cluster.leader("t", 0)]
        assert values_in((await fetched(leader, "t")).records) == {0: "a"}


# Reading


async def test_a_follower_serves_new_consumers_up_to_its_own_high_watermark(cluster: BrokerCluster) -> None:
    await produced(cluster.brokers[1], "t", "a")
    await settle()
    assert (await fetched(cluster.brokers[2], "t", version=10)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert values_in((await fetched(cluster.brokers[2], "t", version=11)).records) == {0: "a"}


async def test_a_consumer_with_a_rack_is_sent_to_the_follower_there(tmp_path: Path) -> None:
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    cluster = BrokerCluster.of(
        tmp_path, 3, settings={"replica.selector.class": selector}, racks=("a", "b", "c"), clock=ManualClock()
    )
    async with cluster:
        await create_topic(cluster, "t")
        await produced(cluster.brokers[1], "t", "x")
        await settle()
        sent_on = await fetched(cluster.brokers[1], "t", rack="b")
        assert (sent_on.preferred_read_replica, bytes(sent_on.records or b"")) == (2, b"")
        assert values_in((await fetched(cluster.brokers[1], "t", rack="a")).records) == {0: "x"}
        assert values_in((await fetched(cluster.brokers[1], "t", rack="nowhere")).records) == {0: "x"}


async def test_a_new_leader_does_not_know_yet_what_is_committed(cluster: BrokerCluster) -> None:
    cluster.pause_follower(3)
    await begin_produce(cluster.brokers[1], "t", "a")
    await settle()
    cluster.move_leader("t", 0, 2)
    asked = lo.ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = lo.ListOffsetsRequest(replica_id=-1, topics=(lo.ListOffsetsTopic(name="t", partitions=(asked,)),))
    codes = {}
    for version in (4, 5):
        told = await list_offsets.handle(cluster.brokers[2], request, call(ApiKey.LIST_OFFSETS, version, request))
        codes[version] = told.topics[0].partitions[0].error_code
    assert codes == {4: ErrorCode.LEADER_NOT_AVAILABLE, 5: ErrorCode.OFFSET_NOT_AVAILABLE}


# Moving partitions and coordinators


async def test_a_reassigned_partition_moves_with_its_records(cluster: BrokerCluster) -> None:
    await create_topic(cluster, "m", replicas=(1,))
    await produced(cluster.brokers[1], "m", "a", "b")
    cluster.brokers[2].topics.reassign("m", 0, (3,))
    assert list(cluster.brokers[2].topics.reassignments()) == ["m"]
    await settle()
    record = cluster.controller.partition_record("m", 0)
    assert (record.replicas, record.isr, record.leader, record.is_being_reassigned) == ((3,), (3,), 3, False)
    assert values_in((await fetched(cluster.brokers[3], "m")).records) == {0: "a", 1: "b"}
    assert (await fetched(cluster.brokers[1], "m")).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert not (Path(cluster.brokers[1].log_manager.directories[0]) / "m-0").exists()


@pytest.mark.lengthy
async def test_committed_offsets_move_with_their_coordinator(cluster: BrokerCluster) -> None:
    request = fc.FindCoordinatorRequest(key="g", key_type=0)
    found = await find_coordinator.handle(cluster.brokers[1], request, call(ApiKey.FIND_COORDINATOR, 3, request))
    assert found.error_code == NONE
    first = found.node_id
    new = oc.OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    commit = oc.OffsetCommitRequest(group_id="g", topics=(oc.OffsetCommitRequestTopic(name="t", partitions=(new,)),))
    told = await offset_commit.handle(cluster.brokers[first], commit, call(ApiKey.OFFSET_COMMIT, 8, commit))
    assert told.topics[0].partitions[0].error_code == NONE
    await cluster.stop_broker(first)
    other = next(iter(cluster.brokers.values()))
    found = await find_coordinator.handle(other, request, call(ApiKey.FIND_COORDINATOR, 3, request))
    assert found.node_id != first
    asked = of.OffsetFetchRequest(group_id="g", topics=(of.OffsetFetchRequestTopic(name="t", partition_indexes=(0,)),))
    second = cluster.brokers[found.node_id]
    await second.groups.await_loading()
    offsets = await offset_fetch.handle(second, asked, call(ApiKey.OFFSET_FETCH, 5, asked))
    assert offsets.topics[0].partitions[0].committed_offset == 7
    wrong = next(broker for node_id, broker in cluster.brokers.items() if node_id != found.node_id)
    refused = await offset_fetch.handle(wrong, asked, call(ApiKey.OFFSET_FETCH, 5, asked))
    assert refused.error_code == ErrorCode.NOT_COORDINATOR


async def test_nobody_gets_the_port_of_a_broker_that_does_not_run(cluster: BrokerCluster) -> None:
    host, port = cluster.brokers[1].address.host, cluster.brokers[1].address.port
    await cluster.kill_broker(1)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            other.bind((host, port))
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, port)
    await cluster.start_broker(1)
    assert cluster.brokers[1].address.port == port


async def test_nobody_else_gets_the_port_of_a_broker_that_has_just_stopped(
    cluster: BrokerCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = cluster.brokers[1]
    stop, address = broker.stop, (broker.address.host, broker.address.port)

    async def stop_while_others_look_for_ports() -> None:
        await stop()
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(address)

    monkeypatch.setattr(broker, "stop", stop_while_others_look_for_ports)
    await cluster.stop_broker(1)
    again = await cluster.start_broker(1)
    assert (again.address.host, again.address.port) == address


async def test_records_are_deleted_by_the_leader_and_its_followers_do_the_same(cluster: BrokerCluster) -> None:
    await produced(cluster.brokers[1], "t", "a", "b")
    await settle()
    deletion = dr.DeleteRecordsTopic(name="t", partitions=(dr.DeleteRecordsPartition(partition_index=0, offset=1),))
    request = dr.DeleteRecordsRequest(topics=(deletion,), timeout_ms=1000)
    told = {}
    for node_id in (2, 1):
        answer = await delete_records.handle(cluster.brokers[node_id], request, call(ApiKey.DELETE_RECORDS, 2, request))
        (partition,) = answer.topics[0].partitions
        told[node_id] = partition.error_code, partition.low_watermark
    assert told == {2: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1), 1: (NONE, 1)}
    await settle()
    starts = [broker.cluster.partition("t", 0).log.log_start_offset for broker in cluster.brokers.values()]
    assert starts == [1, 1, 1]


async def test_a_topic_that_not_every_broker_has_is_deleted_at_each(cluster: BrokerCluster) -> None:
    """Brokers without a replica failed, and DeleteTopics with them."""
    await create_topic(cluster, "m", replicas=(1,))
    assert await cluster.brokers[2].topics.delete(["m"]) == {}
    assert [list(broker.cluster.topics) for broker in cluster.brokers.values()] == [["t"]] * 3
