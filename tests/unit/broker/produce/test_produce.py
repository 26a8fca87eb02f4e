from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.metadata.partition import Partition
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from support.client import RawClient
from support.clock import ManualClock, settle
from support.files import FaultyFiles
from support.record_sets import NOW, record_set, records, with_wrong_checksum
from support.replicas import replicated_up_to
from support.running import running_broker

VERSIONS = range(12)
DEFAULTS = (-1, -1, -1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
async def broker(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path, clock=clock) as running:
        yield running


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await RawClient.connect(broker.address.host, broker.address.port) as connected:
        for name, partitions, configs in (
            ("orders", 3, {}),
            ("stamped", 1, {"message.timestamp.type": "LogAppendTime"}),
            ("keyed", 1, {"cleanup.policy": "compact"}),
            ("small", 1, {"max.message.bytes": "200"}),
            ("safe", 1, {"min.insync.replicas": "2"}),
        ):
            await create(connected, name, partitions, configs)
        yield connected


async def create(client: RawClient, name: str, partitions: int, configs: dict[str, str]) -> None:
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
    response = await client.send(CreateTopicsRequest(topics=(topic,), timeout_ms=1000), 2)
    assert [result.error_code for result in response.topics] == [0], response


def produce(
    *sets: tuple[str, int, bytes | None], acks: int = 1, timeout_ms: int = 1000, **fields: Any
) -> ProduceRequest:
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=index, records=data)])
            for topic, index, data in sets
        ],
        **fields,
    )


async def answers(client: RawClient, request: ProduceRequest, version: int = 11) -> Sequence[Any]:
    response = await client.send(request, version)
    return [partition for topic in response.responses for partition in topic.partition_responses]


async def answer(client: RawClient, *sets: tuple[str, int, bytes | None], version: int = 11, **fields: Any) -> Any:
    (only,) = await answers(client, produce(*sets, **fields), version)
    return only


def codes(found: Sequence[Any]) -> list[ErrorCode]:
    return [ErrorCode(partition.error_code) for partition in found]


def offsets(found: Any) -> tuple[int, int, int]:
    return found.base_offset, found.log_append_time_ms, found.log_start_offset


def stored(partition: Partition) -> list[Record]:
    data = partition.log.read(0, 1 << 20, below=partition.high_watermark, min_one_message=True, allow_partial=False)
    batches = iter_batches(data.read(0, data.size_bytes))
    return [record for batch in batches for record in batch.records()]


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_version_appends_and_answers_the_offset(broker: Broker, client: RawClient, version: int) -> None:
    magic = 0 if version < 2 else 1 if version == 2 else 2
    for n in range(2):
        found = await answer(client, ("orders", 1, record_set(magic)), version=version)
        assert (found.error_code, found.base_offset, found.log_append_time_ms) == (0, 3 * n, -1)
        assert found.log_start_offset == (0 if version >= 5 else -1)
    times = [-1] * 3 if magic == 0 else [NOW - 30, NOW - 10, NOW - 20]
    found_records = stored(broker.cluster.partition("orders", 1))
    assert [(record.offset, record.timestamp, record.value) for record in found_records] == [
        (n, times[n % 3], b"value %d" % (n % 3)) for n in range(6)
    ]


async def test_a_log_append_time_topic_answers_the_time(client: RawClient) -> None:
    assert offsets(await answer(client, ("stamped", 0, record_set(2)), version=5)) == (0, NOW, 0)


async def test_partitions_stand_or_fall_alone(broker: Broker, client: RawClient) -> None:
    good = record_set(2)
    found = await answers(
        client,
        produce(
            ("orders", 0, good),
            ("orders", 7, good),
            ("orders", 1, with_wrong_checksum(good)),
            ("orders", 2, bytes(40)),
            ("nowhere", 0, good),
            ("small", 0, record_set(2, content=[Record(timestamp=NOW, value=bytes(500))])),
            ("keyed", 0, good),
        ),
    )
    assert codes(found) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.NONE,
    ]
    assert broker.cluster.partition("orders", 1).log.log_end_offset == 0


async def test_partitions_of_a_topic_named_twice_share_one_answer(client: RawClient) -> None:
    response = await client.send(produce(("orders", 0, record_set(2)), ("orders", 1, record_set(2))), 9)
    assert [(topic.name, len(topic.partition_responses)) for topic in response.responses] == [("orders", 2)]


@pytest.mark.parametrize(
    ("data", "version", "code"),
    [
        (b"", 2, ErrorCode.NONE),
        (b"", 3, ErrorCode.INVALID_RECORD),
        (None, 3, ErrorCode.INVALID_RECORD),
        (None, 2, ErrorCode.NONE),
        (record_set(1), 3, ErrorCode.INVALID_RECORD),
        (record_set(2, Codec.ZSTD), 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (record_set(2, Codec.ZSTD), 7, ErrorCode.NONE),
        (record_set(2), 0, ErrorCode.NONE),
    ],
    ids=["empty v2", "empty v3", "null v3", "null v2", "magic 1 v3", "zstd v6", "zstd v7", "magic 2 v0"],
)
async def test_what_a_version_may_carry(client: RawClient, data: bytes | None, version: int, code: ErrorCode) -> None:
    found = await answer(client, ("orders", 0, data), version=version)
    assert found.error_code == code
    if code or not data:
        assert found.base_offset == -1


async def test_record_errors_name_the_records_from_v8_on(client: RawClient) -> None:
    data = record_set(2, content=[*records(NOW), *records(NOW, NOW, key=None, first_offset=1)])
    found = await answer(client, ("keyed", 0, data), version=8)
    assert (found.error_code, offsets(found)) == (ErrorCode.INVALID_RECORD, (-1, -1, 0))
    assert [error.batch_index for error in found.record_errors] == [1, 2]
    assert "without a key" in found.record_errors[0].batch_index_error_message
    assert "2 records" in found.error_message
    old = await answer(client, ("keyed", 0, data), version=7)
    assert (old.error_code, list(old.record_errors), old.error_message) == (ErrorCode.INVALID_RECORD, [], None)


async def test_other_errors_say_why_and_name_no_records(client: RawClient) -> None:
    found = await answer(client, ("orders", 0, with_wrong_checksum(record_set(2))))
    assert (offsets(found), list(found.record_errors)) == (DEFAULTS, [])
    assert "checksum" in found.error_message


@pytest.mark.parametrize("acks", [2, -2, 300])
async def test_acks_are_minus_one_to_one(broker: Broker, client: RawClient, acks: int) -> None:
    found = await answers(
        client, produce(("orders", 0, record_set(2)), ("orders", 9, record_set(2)), ("orders", 1, b""), acks=acks)
    )
    assert codes(found) == [
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_RECORD,
    ]
    assert offsets(found[0]) == DEFAULTS
    assert broker.cluster.partition("orders", 0).log.log_end_offset == 0


async def test_acks_0_are_not_answered(broker: Broker, client: RawClient) -> None:
    await client.begin(produce(("orders", 0, record_set(2)), acks=0), 11)
    found = await answer(client, ("orders", 0, record_set(2)))
    assert (found.error_code, found.base_offset) == (0, 3)


async def test_acks_0_and_an_error_close_the_connection(client: RawClient) -> None:
    await client.begin(produce(("orders", 0, record_set(2)), ("nowhere", 0, record_set(2)), acks=0), 11)
    assert await client.read_frame() is None


async def test_an_internal_topic_is_for_the_admin_client_only(broker: Broker, client: RawClient) -> None:
    broker.cluster.topics["orders"].is_internal = True
    found = await answer(client, ("orders", 0, record_set(2)))
    assert (found.error_code, offsets(found)) == (ErrorCode.INVALID_TOPIC_EXCEPTION, DEFAULTS)
    client.client_id = "__admin_client"
    assert (await answer(client, ("orders", 0, record_set(2)))).error_code == 0


async def test_the_new_leader_is_named_from_v10_on(broker: Broker, client: RawClient) -> None:
    partition = broker.cluster.partition("orders", 0)
    partition.leader_id, partition.leader_epoch = 77, 5
    found = await answer(client, ("orders", 0, record_set(2)))
    assert (found.error_code, offsets(found)) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, DEFAULTS)
    assert (found.current_leader.leader_id, found.current_leader.leader_epoch) == (77, 5)
    old = await answer(client, ("orders", 0, record_set(2)), version=9)
    assert (old.error_code, old.current_leader.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


async def test_too_few_replicas_in_sync_write_nothing(broker: Broker, client: RawClient) -> None:
    partition = broker.cluster.partition("safe", 0)
    partition.replicas = (partition.leader_id, 88)
    found = await answer(client, ("safe", 0, record_set(2)), acks=-1)
    assert (found.error_code, found.base_offset) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)
    assert partition.log.log_end_offset == 0
    assert (await answer(client, ("safe", 0, record_set(2)), acks=1)).error_code == 0


async def test_min_insync_replicas_is_no_more_than_there_are(client: RawClient) -> None:
    assert (await answer(client, ("safe", 0, record_set(2)), acks=-1)).error_code == 0


async def test_acks_all_waits_for_the_replicas_until_its_time_is_up(
    broker: Broker, client: RawClient, clock: ManualClock
) -> None:
    partition = broker.cluster.partition("safe", 0)
    replicated_up_to(partition, 0, 88)
    request = produce(("safe", 0, record_set(2)), acks=-1, timeout_ms=500)
    sent = await client.begin(request, 11)
    while not len(broker.produce_purgatory):
        await settle()
    await clock.advance(500)
    (topic,) = (await client.finish(request, 11, sent)).responses
    (found,) = topic.partition_responses
    assert (found.error_code, found.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert partition.log.log_end_offset == 3


async def test_acks_all_is_answered_when_the_replicas_have_it(broker: Broker, client: RawClient) -> None:
    partition = broker.cluster.partition("safe", 0)
    replicated_up_to(partition, 0, 88)
    request = produce(("safe", 0, record_set(2)), acks=-1)
    sent = await client.begin(request, 11)
    while not len(broker.produce_purgatory):
        await settle()
    replicated_up_to(partition, 3, 88)
    partition.isr = (partition.leader_id,)
    broker.wake_waiting_requests(partition)
    (topic,) = (await client.finish(request, 11, sent)).responses
    assert codes(topic.partition_responses) == [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]


async def test_a_producer_that_repeats_itself_gets_its_first_answer(broker: Broker, client: RawClient) -> None:
    ids = [
        await client.send(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0), v) for v in range(6)
    ]
    assert len({found.producer_id for found in ids}) == 6
    assert {(found.error_code, found.producer_epoch) for found in ids} == {(0, 0)}
    data = record_set(2, producer_id=ids[0].producer_id, producer_epoch=0, base_sequence=0)
    await answer(client, ("orders", 0, record_set(2)))
    assert (await answer(client, ("orders", 0, data))).base_offset == 3
    assert (await answer(client, ("orders", 0, data))).base_offset == 3
    assert broker.cluster.partition("orders", 0).log.log_end_offset == 6
    gap = record_set(2, producer_id=ids[0].producer_id, producer_epoch=0, base_sequence=9)
    found = await answer(client, ("orders", 0, gap))
    assert (found.error_code, offsets(found)) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, (-1, -1, 0))


@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 5)])
async def test_a_producer_names_both_its_id_and_its_epoch(client: RawClient, producer_id: int, epoch: int) -> None:
    request = InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=0, producer_id=producer_id, producer_epoch=epoch
    )
    found = await client.send(request, 3)
    assert (found.error_code, found.producer_id, found.producer_epoch) == (ErrorCode.INVALID_REQUEST, -1, -1)


async def test_transactional_records_need_a_transactional_id(client: RawClient) -> None:
    data = record_set(2, producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    found = await answers(client, produce(("orders", 0, data), ("orders", 1, record_set(2))))
    assert codes(found) == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 2


async def test_one_request_carries_the_transaction_of_one_producer(client: RawClient) -> None:
    sets = [
        ("orders", n, record_set(2, producer_id=n, producer_epoch=0, base_sequence=0, transactional=True))
        for n in range(2)
    ]
    found = await answers(client, produce(*sets, transactional_id="t"))
    assert codes(found) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2


async def test_a_waiting_fetch_sees_the_records_at_once(broker: Broker, client: RawClient) -> None:
    fetch = FetchRequest(
        max_wait_ms=10_000,
        min_bytes=1,
        topics=[FetchTopic(topic="orders", partitions=[FetchPartition(partition=0, partition_max_bytes=1000)])],
    )
    sent = await client.begin(fetch, 4)
    while not len(broker.fetch_purgatory):
        await settle()
    async with await RawClient.connect(broker.address.host, broker.address.port) as producer:
        await answer(producer, ("orders", 0, record_set(2)))
    (topic,) = (await client.finish(fetch, 4, sent)).responses
    assert len(topic.partitions[0].records) == len(record_set(2))


async def test_large_compressed_sets_are_prepared_by_a_worker(broker: Broker, client: RawClient) -> None:
    content = [Record(offset=n, timestamp=NOW, key=b"%d" % n, value=bytes(2000)) for n in range(200)]
    for magic, codec in ((1, Codec.NONE), (1, Codec.SNAPPY), (2, Codec.LZ4)):
        found = await answer(client, ("orders", 0, record_set(magic, codec, content)), version=2)
        assert found.error_code == 0
    assert broker.conversion_budget.in_use_bytes == 0
    assert broker.conversion_budget.peak_bytes > 0
    assert [record.key for record in stored(broker.cluster.partition("orders", 0))][:200] == [r.key for r in content]


async def test_sets_of_one_request_that_open_to_much_go_through_one_worker_together(
    broker: Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each by itself would cost the way to a thread and back."""
    await client.send(ProduceRequest(acks=1, timeout_ms=1000, topic_data=()), 9)  # a worker reads the handler
    trips = 0
    run_in_worker = broker.run_in_worker

    async def counted(*args: Any) -> Any:
        nonlocal trips
        trips += 1
        return await run_in_worker(*args)

    monkeypatch.setattr(broker, "run_in_worker", counted)
    good = record_set(2, Codec.GZIP, content=[Record(key=b"key", value=bytes(200_000))])
    bad = with_wrong_checksum(good)
    data = [PartitionProduceData(index=0, records=memoryview(records)) for records in (good, bad, good)]
    names = ("orders", "late", "keyed")
    request = ProduceRequest(
        acks=1,
        timeout_ms=1000,
        topic_data=tuple(
            TopicProduceData(name=name, partition_data=(each,)) for name, each in zip(names, data, strict=True)
        ),
    )
    response = await client.send(request, 9)
    assert trips == 1
    codes = {each.name: each.partition_responses[0].error_code for each in response.responses}
    assert codes["orders"] == 0
    assert codes["late"] != 0


async def test_what_happened_is_counted(broker: Broker, client: RawClient) -> None:
    good = record_set(2)
    old = record_set(1)
    await answer(client, ("orders", 0, good))
    await answer(client, ("orders", 0, old), version=2)
    await answer(client, ("keyed", 0, record_set(2, content=records(NOW, NOW, key=None))))
    await answer(client, ("orders", 0, with_wrong_checksum(good)))
    large = record_set(2, content=[Record(timestamp=NOW, value=bytes(500))])
    await answer(client, ("small", 0, large))
    metrics = broker.metrics
    assert metrics.messages_in.of("orders").value == 6
    assert metrics.bytes_in.of("orders").value == len(good) + len(old)
    assert metrics.produce_conversions.of("orders").value == 3
    assert metrics.produce_partition_requests.of("orders").value == 3
    assert metrics.invalid_records.of("no_key_in_compacted_topic").value == 2
    assert metrics.invalid_records.of("invalid_checksum").value == 1
    assert metrics.bytes_rejected.of("small").value == len(large)
    assert metrics.failed_produce_requests.of("keyed").value == 1
    assert metrics.failed_produce_requests.of("orders").value == 0


async def test_a_full_disk_is_answered_as_56_and_logged_and_nothing_of_the_records_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As in Kafka the log directory is offline then, until the broker is started again."""
    files = FaultyFiles()
    async with (
        running_broker(tmp_path, files=files) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await create(client, "orders", 1, {})
        files.space_left = 10
        response = await client.send(produce(("orders", 0, record_set(2))), 9)
        assert response.responses[0].partition_responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert "appending to orders-0" in caplog.text
        assert "No space left on device" in caplog.text
        assert list(broker.log_manager.offline) == [str(tmp_path)]
    async with (
        running_broker(tmp_path) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        again = await client.send(produce(("orders", 0, record_set(2))), 9)
        partition = again.responses[0].partition_responses[0]
        assert (partition.error_code, partition.base_offset) == (ErrorCode.NONE, 0)


async def test_of_a_partition_that_is_named_twice_the_last_records_count(client: RawClient) -> None:
    first, last = (PartitionProduceData(index=0, records=record_set(2, content=records(*[NOW] * n))) for n in (1, 2))
    topic = TopicProduceData(name="orders", partition_data=(first, last))
    response = await client.send(ProduceRequest(acks=1, timeout_ms=1000, topic_data=(topic,)), 9)
    (only,) = response.responses[0].partition_responses
    assert (only.error_code, only.base_offset) == (0, 0)
    response = await client.send(ProduceRequest(acks=1, timeout_ms=1000, topic_data=(topic,)), 9)
    assert response.responses[0].partition_responses[0].base_offset == 2
