"""OffsetCommit v2 to v4 with a retention of 2^63-1 ms was answered UNKNOWN_SERVER_ERROR, with a traceback in the log.

Each number of each request, in every version, at the ends of its type, in requests that are sensible otherwise: each
has an answer, none is UNKNOWN_SERVER_ERROR, and none leaves an error in the log. The same requests under the smallest
and the largest quotas: an answer that cannot be encoded would be one after its effect.
"""

import dataclasses
import itertools
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.handlers import SERVED
from stepdown.broker.quotas.rate import LONGEST_WAIT_MS
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from stepdown.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from stepdown.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stepdown.protocol.primitives import Primitive
from stepdown.protocol.schema import schema_of
from support.authorization_requests import GROUP, OTHER_TOPIC, TOPIC, TRANSACTION, requests
from support.client import RawClient
from support.running import running_broker

SETTINGS = {
    "offsets_topic_num_partitions": 1,
    "transaction_state_log_num_partitions": 1,
    "group_coordinator_rebalance_protocols": "classic,consumer",
    "group_initial_rebalance_delay_ms": 0,
    "auto_create_topics_enable": "false",
}
BITS = {Primitive.INT8: 8, Primitive.INT16: 16, Primitive.INT32: 32, Primitive.INT64: 64}
ENDS: dict[Primitive, tuple[float, ...]] = {
    kind: (-(2 ** (bits - 1)), 1 - 2 ** (bits - 1), -2, -1, 0, 1, 2 ** (bits - 1) - 2, 2 ** (bits - 1) - 1)
    for kind, bits in BITS.items()
} | {
    Primitive.UINT16: (0, 1, 65_535),
    Primitive.FLOAT64: (float("-inf"), -1.0, 0.0, 5e-324, 1e-320, 1.7e308, float("inf"), float("nan")),
}


def variants(value: Any) -> Iterator[tuple[str, Any]]:
    """Each number of a message at each of its ends, as the place with its number, and the message."""
    for part in schema_of(type(value)).fields:
        content = getattr(value, part.name)
        for place, changed in _of_field(part.kind, part.item, content):
            yield f"{part.name}{place}", dataclasses.replace(value, **{part.name: changed})


def _of_field(kind: Primitive, item: Primitive | None, content: Any) -> Iterator[tuple[str, Any]]:
    if kind in ENDS:
        yield from ((f"={end}", end) for end in ENDS[kind])
    elif hasattr(type(content), "__schema__"):
        yield from ((f".{place}", changed) for place, changed in variants(content))
    elif isinstance(content, list | tuple) and content and item is not None:
        yield from ((f"[]{place}", [changed, *content[1:]]) for place, changed in _of_field(item, None, content[0]))
    elif isinstance(content, list | tuple) and content:
        yield from ((f"[].{place}", [changed, *content[1:]]) for place, changed in variants(content[0]))


def error_codes(value: Any) -> Iterator[int]:
    """All error codes of a response."""
    for part in schema_of(type(value)).fields:
        content = getattr(value, part.name)
        if part.name == "error_code":
            yield content
        for each in content if isinstance(content, list | tuple) else (content,):
            if hasattr(type(each), "__schema__"):
                yield from error_codes(each)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path, **SETTINGS) as running:
        async with await connected(running) as client:
            names = (TOPIC, OTHER_TOPIC)
            topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
            await client.send(CreateTopicsRequest(topics=topics), 4)
            partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="m")
            committed = [OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]
            await client.send(OffsetCommitRequest(group_id=GROUP, topics=committed), 8)
            await client.send(InitProducerIdRequest(transactional_id=TRANSACTION, transaction_timeout_ms=60_000), 1)
        yield running


async def connected(broker: Broker) -> RawClient:
    return await RawClient.connect(broker.address.host, broker.address.port)


def sensible(broker: Broker, key: ApiKey) -> Iterator[tuple[str, int, Any]]:
    """What is asked, the version and the request, for each version that is served."""
    ids = {name: topic.topic_id for name, topic in broker.cluster.topics.items()}
    for asked, what, build in requests(ids):
        if asked is key:
            for version in range(SERVED[key].first, SERVED[key].last + 1):
                request = build(version)
                if request is not None:
                    yield what, version, request


async def ask(client: RawClient, request: Any, version: int) -> str:
    """What is wrong with the answer, in short; nothing if that is nothing."""
    try:
        answer = await client.send(request, version)
    except (ConnectionError, TimeoutError) as fault:
        return type(fault).__name__
    return "UNKNOWN_SERVER_ERROR" if ErrorCode.UNKNOWN_SERVER_ERROR in error_codes(answer) else ""


def is_in_version(client: RawClient, request: Any, version: int) -> bool:
    try:
        client.frame(request, version)
    except (ValueError, OverflowError):
        return False
    return True


GROUPS = itertools.count()
AS_IN_KAFKA = ("markers[].producer_id=-1", "markers[].producer_epoch=-1")
"""Kafka cannot build such a batch and answers UNKNOWN_SERVER_ERROR, too."""


def alone(key: ApiKey, request: Any) -> Any:
    """A member joins a group of its own: it would wait for the others of one."""
    return dataclasses.replace(request, group_id=f"g{next(GROUPS)}") if key is ApiKey.JOIN_GROUP else request


@pytest.mark.parametrize("key", sorted(SERVED), ids=lambda key: API[key].name)
async def test_every_number_of_a_request_may_lie_at_the_ends_of_its_type(
    broker: Broker, key: ApiKey, caplog: pytest.LogCaptureFixture
) -> None:
    found = []
    client = await connected(broker)
    for what, version, request in sensible(broker, key):
        for place, changed in variants(request):
            if not is_in_version(client, changed, version) or (key is ApiKey.PRODUCE and not changed.acks):
                continue  # a version without the field; a request that has no answer
            if key is ApiKey.WRITE_TXN_MARKERS and place in AS_IN_KAFKA:
                continue
            fault = await ask(client, alone(key, changed), version)
            if fault:
                found.append(f"v{version} {what} {place}: {fault}")
                await client.close()
                client = await connected(broker)
    await client.close()
    assert not found
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


QUOTAS = {
    "producer_byte_rate": 2.0**62,
    "consumer_byte_rate": 2.0**62,
    "request_percentage": 1.7e308,
    "controller_mutation_rate": 1.7e308,
}
"""And the most that may be set of each."""


@pytest.mark.parametrize("rate", [5e-324, 1e-320, 1e-9, 1.0, 1.7e308], ids=str)
async def test_answers_are_encoded_under_the_smallest_and_the_largest_quotas(
    broker: Broker, rate: float, caplog: pytest.LogCaptureFixture
) -> None:
    ops = [OpData(key=key, value=min(rate, most)) for key, most in QUOTAS.items()]
    async with await connected(broker) as client:
        entry = EntryData(entity=[EntityData(entity_type="user", entity_name="ANONYMOUS")], ops=ops)
        answer = await client.send(AlterClientQuotasRequest(entries=[entry]), 1)
        assert [each.error_code for each in answer.entries] == [0], answer
    found = []
    for key in sorted(SERVED):
        for what, version, request in _first_and_last(list(sensible(broker, key))):
            async with await connected(broker) as client:  # one that has to wait is not listened to
                answer = await client.send(alone(key, request), version)
                throttle_ms = getattr(answer, "throttle_time_ms", 0)
                if not 0 <= throttle_ms <= LONGEST_WAIT_MS or -1 in error_codes(answer):
                    found.append(f"{API[key].name} v{version} {what}: {throttle_ms} ms")
    assert not found
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def _first_and_last(rows: Sequence[tuple[str, int, Any]]) -> Sequence[tuple[str, int, Any]]:
    return [*rows[:1], *rows[-1:]]
