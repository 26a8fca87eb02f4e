"""Writes a record from the page, by a produce request of the broker's own, with acks=all."""

from base64 import b64decode
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from ...network.page.page_query import QueryFault
from ...network.peer import Peer
from ...protocol.api import ApiKey
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.frame import RequestHeader
from ...protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ...protocol.records.builder import build_batch
from ...protocol.records.record import Header, Record
from ..dispatch.call import Call
from ..handlers import produce

if TYPE_CHECKING:
    from ..services import Services

VERSION = 9
ACKS_ALL = -1
TIMEOUT_MS = 5_000
MOST_PARTITION = 2**31 - 1
CLIENT_ID = "stepdown-page"


async def write_record(services: "Services", given: Mapping[str, Any]) -> dict[str, Any]:
    """Writes `key`, `value` and `headers` to a partition of a topic; returns topic, partition and offset.

    Keys and values are a text, null, or {"base64": …}. Raises: QueryFault, ApiError as Produce answers it.
    """
    topic, partition = given.get("topic"), given.get("partition", 0)
    if not isinstance(topic, str) or not topic:
        raise QueryFault("topic: expected a name")
    if type(partition) is not int or not 0 <= partition <= MOST_PARTITION:
        raise QueryFault("partition: expected a number")
    record = Record(
        timestamp=services.clock.now_ms(),
        key=_read_bytes(given, "key"),
        value=_read_bytes(given, "value"),
        headers=_read_headers(given.get("headers", [])),
    )
    return await _produce(services, topic, partition, build_batch([record]))


def _read_bytes(given: Mapping[str, Any], name: str) -> bytes | None:
    value = given.get(name)
    try:
        if value is None:
            return None
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, dict) and value.keys() == {"base64"}:
            return b64decode(value["base64"], validate=True)
    except (ValueError, TypeError) as fault:
        raise QueryFault(f"{name}: {fault}") from fault
    raise QueryFault(f'{name}: expected a text, null or {{"base64": "…"}}')


def _read_headers(given: Any) -> tuple[Header, ...]:
    if not isinstance(given, list) or not all(
        isinstance(each, dict) and isinstance(each.get("key"), str) for each in given
    ):
        raise QueryFault('headers: expected a list of {"key": "name", "value": "v"}')
    return tuple(((_read_bytes(each, "key") or b"").decode(), _read_bytes(each, "value")) for each in given)


async def _produce(services: "Services", topic: str, partition: int, records: bytes) -> dict[str, Any]:
    data = PartitionProduceData(index=partition, records=memoryview(records))
    topics = (TopicProduceData(name=topic, partition_data=(data,)),)
    request = ProduceRequest(transactional_id=None, acks=ACKS_ALL, timeout_ms=TIMEOUT_MS, topic_data=topics)
    peer = Peer(host="127.0.0.1", port=0, listener="HTTP", client_id=CLIENT_ID)
    header = RequestHeader(ApiKey.PRODUCE, VERSION, 0, CLIENT_ID)
    answer = produce.handle(services, request, Call(ApiKey.PRODUCE, VERSION, header, peer, request, len(records)))
    response = await answer if isinstance(answer, Coroutine) else answer
    assert response is not None  # acks=all has an answer
    found = response.responses[0].partition_responses[0]
    if found.error_code:
        raise ApiError(found.error_message or "the record is not written", ErrorCode(found.error_code))
    return {"topic": topic, "partition": partition, "offset": found.base_offset}
