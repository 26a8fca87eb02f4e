"""From a frame to an answer: headers, versions, failures, and who may step in between."""

import logging
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.dispatch.call import Call
from stepdown.broker.dispatch.interceptor import Interceptor
from stepdown.broker.metrics.response_errors import ResponseErrors
from stepdown.network.answerer import CloseConnection
from stepdown.protocol.errors import ApiError, ErrorCode
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.fetch import FetchResponse
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from support.client import RawClient
from support.fetching import connect, create, fetch, fetched, records
from support.running import running_broker


class Stepping(Interceptor):
    """An interceptor that does what it is told before or after each call."""

    def __init__(self) -> None:
        self.raises: Exception | None = None
        self.answers: Any = None
        self.seen: list[tuple[str, int]] = []

    async def before(self, call: Call) -> Any | None:
        self.seen.append((call.key.name, call.version))
        if self.raises is not None:
            raise self.raises
        return self.answers

    async def after(self, call: Call, response: Any | None) -> Any | None:
        return response


@pytest.fixture
def stepping() -> Stepping:
    return Stepping()


@pytest.fixture
async def broker(tmp_path: Path, stepping: Stepping) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path, interceptors=[stepping]) as running:
        yield running


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await connect(broker) as connected:
        await create(connected, "t")
        yield connected


def framed(*parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">i", len(body)) + body


def produce_request(acks: int) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=build_batch(records(1)))
    topic = TopicProduceData(name="t", partition_data=(data,))
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=(topic,))


async def test_a_client_may_have_no_id(client: RawClient, stepping: Stepping) -> None:
    await client.send_raw(framed(struct.pack(">hhih", 18, 0, 5, -1)))
    answer = await client.read_frame()
    assert answer is not None
    assert answer[:6] == struct.pack(">ih", 5, 0)


async def test_bytes_behind_the_body_are_ignored(client: RawClient) -> None:
    await client.send_raw(framed(struct.pack(">hhih", 18, 0, 5, -1), b"and something"))
    assert await client.read_frame() is not None
    assert (await client.send(ApiVersionsRequest(), 0)).error_code == 0


@pytest.mark.parametrize("version", [0, 2, 3, 4])
async def test_the_answer_to_api_versions_has_the_shortest_header(client: RawClient, version: int) -> None:
    """Its reader does not know yet what is spoken: no tagged fields, even where its body has them."""
    request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    correlation_id = await client.begin(request, version)
    answer = await client.read_frame()
    assert answer is not None
    assert answer[:6] == struct.pack(">ih", correlation_id, 0)
    count = answer[6] - 1 if version >= 3 else struct.unpack_from(">i", answer, 6)[0]
    assert count > 30


@pytest.mark.parametrize("version", [0, 3, 4, 6])
async def test_what_fails_unexpectedly_is_answered_partition_by_partition(
    client: RawClient, stepping: Stepping, caplog: pytest.LogCaptureFixture, version: int
) -> None:
    stepping.raises = ZeroDivisionError("a fault of ours")
    answer = await fetched(client, fetch("t"), version)
    assert (answer.error_code, bytes(answer.records or b"")) == (ErrorCode.UNKNOWN_SERVER_ERROR, b"")
    assert f"Fetch v{version} from" in caplog.text
    assert "a fault of ours" in caplog.text
    stepping.raises = None
    assert (await fetched(client, fetch("t"), version)).error_code == 0


@pytest.mark.parametrize("version", [7, 11])
async def test_a_fetch_with_sessions_fails_as_a_whole(client: RawClient, stepping: Stepping, version: int) -> None:
    stepping.raises = ZeroDivisionError()
    response = await client.send(fetch("t"), version)
    assert (response.error_code, response.responses) == (ErrorCode.UNKNOWN_SERVER_ERROR, ())


@pytest.mark.parametrize(
    ("version", "code"), [(5, ErrorCode.NOT_LEADER_OR_FOLLOWER), (6, ErrorCode.KAFKA_STORAGE_ERROR)]
)
async def test_a_refused_fetch_says_only_what_its_version_knows(
    client: RawClient, stepping: Stepping, version: int, code: ErrorCode
) -> None:
    stepping.raises = ApiError("no disk", ErrorCode.KAFKA_STORAGE_ERROR)
    assert (await fetched(client, fetch("t"), version)).error_code == code


@pytest.mark.parametrize(
    "fault", [ZeroDivisionError(), ApiError("no", ErrorCode.NOT_LEADER_OR_FOLLOWER)], ids=["ours", "known"]
)
async def test_a_failed_produce_without_acks_closes_the_connection(
    client: RawClient, stepping: Stepping, fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    stepping.raises = fault
    await client.begin(produce_request(0), 7)
    assert await client.read_frame() is None
    assert "acks 0" in caplog.text


async def test_a_produce_without_acks_answers_nothing_and_the_next_request_is_answered(client: RawClient) -> None:
    await client.begin(produce_request(0), 7)
    correlation_id = await client.begin(ApiVersionsRequest(), 0)
    assert (await client.finish(ApiVersionsRequest(), 0, correlation_id)).error_code == 0


async def test_an_answer_that_does_not_fit_its_layout_closes_the_connection(
    client: RawClient, stepping: Stepping, caplog: pytest.LogCaptureFixture
) -> None:
    stepping.answers = FetchResponse(session_id=1 << 40)
    await client.begin(fetch("t"), 7)
    assert await client.read_frame() is None
    assert "cannot be written" in caplog.text


async def test_who_steps_in_may_hang_up(
    client: RawClient, stepping: Stepping, caplog: pytest.LogCaptureFixture
) -> None:
    stepping.raises = CloseConnection("as a test wants it")
    with caplog.at_level(logging.WARNING):
        await client.begin(MetadataRequest(topics=None), 1)
        assert await client.read_frame() is None
    assert "as a test wants it" in caplog.text


@pytest.mark.parametrize(("version", "deprecated"), [(0, 1), (3, 1), (4, 0), (11, 0)])
async def test_deprecated_versions_are_counted_by_who_speaks_them(
    broker: Broker, client: RawClient, version: int, deprecated: int
) -> None:
    await client.send(ApiVersionsRequest(client_software_name="old-lib", client_software_version="0.9"), 3)
    await fetched(client, fetch("t"), version)
    counted = broker.metrics.deprecated_requests.of("Fetch", str(version), "old-lib", "0.9").value
    assert counted == deprecated


async def test_a_client_that_does_not_name_its_software_is_counted_by_a_guess(
    broker: Broker, client: RawClient
) -> None:
    """A client of 0.9 was counted as unknown, unknown."""
    other = await RawClient.connect(broker.address.host, broker.address.port, client_id="rdkafka")
    async with other:
        await fetched(other, fetch("t"), 1)
    assert broker.metrics.deprecated_requests.of("Fetch", "1", "librdkafka (guess)", "0.9 (guess)").value == 1


async def test_a_worker_counts_the_codes_of_a_long_answer(
    broker: Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of 90,000 topics held the loop for 25 ms."""
    threads = []
    tally = ResponseErrors.tally

    def noting(errors: ResponseErrors, response: Any) -> Any:
        threads.append(current_thread())
        return tally(errors, response)

    monkeypatch.setattr(ResponseErrors, "tally", noting)
    topics = tuple(MetadataRequestTopic(name=f"absent{number}") for number in range(3_000))
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    assert len((await client.send(request, 9)).topics) == len(topics)
    (thread,) = threads
    assert thread is not main_thread()
    counter = broker.metrics.request_errors.of("Metadata", "UNKNOWN_TOPIC_OR_PARTITION")
    assert counter.value == len(topics)
