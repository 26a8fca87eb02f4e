"""What a scrape shows of what happened."""

from pathlib import Path

from stepdown.network.metrics.instruments import CounterFamily, HistogramFamily
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from stepdown.protocol.messages.delete_topics import DeleteTopicsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.brokers import create_topic, running_cluster
from support.client import RawClient
from support.clock import ManualClock
from support.running import running_broker
from support.scraping import metric_of, scraped, value


async def test_requests_and_their_error_codes_are_counted(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        client = await RawClient.connect(broker.address.host, broker.address.port)
        await client.send(ApiVersionsRequest(), 0)
        nowhere = FetchTopic(topic="nowhere", partitions=(FetchPartition(partition=0, partition_max_bytes=1),))
        await client.send(FetchRequest(topics=(nowhere,)), 2)
        assert await value(broker, "stepdown_requests_total", request="ApiVersions", version="0") == 1
        unknown = {"request": "Fetch", "error": "UNKNOWN_TOPIC_OR_PARTITION"}
        assert await value(broker, "stepdown_request_errors_total", **unknown) == 1
        local = {"request": "Fetch", "phase": "local", "version": "2"}
        assert await value(broker, "stepdown_request_duration_seconds_count", **local) == 1


def test_labels_from_outside_cannot_grow_without_bound() -> None:
    family = CounterFamily("clients", "", ("name",), limit=3)
    for at in range(10):
        family.of(f"client-{at}").add()
    samples = {
        sample.labels["name"]: sample.value for sample in metric_of(family).samples if sample.name.endswith("_total")
    }
    assert samples == {"client-0": 1, "client-1": 1, "client-2": 1, "other": 7}


def test_a_histogram_counts_at_or_below_its_bounds() -> None:
    family = HistogramFamily("times", "", (1.0, 10.0))
    for observed in (0.5, 1.0, 5.0, 100.0):
        family.observe(observed)
    buckets = {s.labels["le"]: s.value for s in metric_of(family).samples if s.name == "times_bucket"}
    assert buckets == {"1.0": 2, "10.0": 3, "+Inf": 4}


async def test_the_process_and_its_groups_are_shown(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        assert await value(broker, "process_resident_memory_bytes") > 1_000_000
        assert await value(broker, "stepdown_groups") == 0
        client = await RawClient.connect(broker.address.host, broker.address.port)
        topic = CreatableTopic(name="orders", num_partitions=2, replication_factor=1)
        await client.send(CreateTopicsRequest(topics=(topic,), timeout_ms=1000), 2)
        for index, offset in ((0, 3), (1, 0)):
            records = build_batch([Record(offset=at, timestamp=1, key=None, value=b"x") for at in range(10)])
            data = TopicProduceData(name="orders", partition_data=(PartitionProduceData(index=index, records=records),))
            await client.send(ProduceRequest(acks=1, timeout_ms=1000, topic_data=(data,)), 3)
            committed = OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
            commit = OffsetCommitRequest(
                group_id="billing", topics=(OffsetCommitRequestTopic(name="orders", partitions=(committed,)),)
            )
            await client.send(commit, 2)
        assert await value(broker, "stepdown_group_lag", group="billing", topic="orders") == 17


async def test_the_page_has_a_row_of_each(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "metrics.md").read_text()
    async with running_broker(tmp_path) as broker:
        families = broker.metrics.instruments._families
        shown = [(family.kind, family) for family in families]
    rows = [
        f"| `{each.name}{'_total' * (kind == 'counter')}` | {kind} | {', '.join(each.labels)} | {each.help} |"
        for kind, each in shown
    ]
    assert sorted(line for line in page.splitlines() if line.startswith("| `")) == sorted(rows)


async def test_a_broker_of_a_cluster_leads_some_of_its_partitions(tmp_path: Path) -> None:
    async with running_cluster(tmp_path, clock=ManualClock()) as cluster:
        await create_topic(cluster, "t")
        leader = cluster.leader("t", 0)
        for node_id, broker in cluster.brokers.items():
            assert await value(broker, "stepdown_partitions") == 1
            assert await value(broker, "stepdown_leader_partitions") == (node_id == leader)


async def test_a_deleted_topic_leaves_no_counters(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        client = await RawClient.connect(broker.address.host, broker.address.port)
        topic = CreatableTopic(name="gone", num_partitions=1, replication_factor=1)
        await client.send(CreateTopicsRequest(topics=(topic,), timeout_ms=1000), 2)
        asked = FetchTopic(topic="gone", partitions=(FetchPartition(partition=0, partition_max_bytes=1),))
        await client.send(FetchRequest(topics=(asked,)), 2)
        assert await value(broker, "stepdown_fetch_partition_requests_total", topic="gone") == 1
        await client.send(DeleteTopicsRequest(topic_names=("gone",), timeout_ms=1000), 1)
        assert not [labels for _, labels in await scraped(broker) if ("topic", "gone") in labels]
