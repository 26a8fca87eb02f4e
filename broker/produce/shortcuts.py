"""Short ways for the produce requests that come again and again: one plain batch for one partition.

A producer's requests to a partition begin alike but for their correlation id, and so do the answers. What a request of
that beginning was found to be the long way (`dispatch.py`, `handlers/produce.py`) is kept; the next one is known by its
bytes, and is checked, appended and answered in one go, without the objects in between. What the long way would see
otherwise by now ends the shortcut, and what is not plain, or wrong, goes the long way before anything is written.
"""

from collections.abc import Iterable
from struct import Struct
from time import perf_counter
from typing import TYPE_CHECKING

from ...protocol.api import API, ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.frame import SIZE_BYTES, RequestHeader, encode_request, encode_response
from ...protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from ...protocol.primitives import read_uvarint
from ...protocol.records.layout import ATTRIBUTES_OFFSET, RECORD_BATCH_OVERHEAD
from ...protocol.schema import Buffer, Piece
from ...storage.log.log import AppendInfo
from ...storage.validation.prepared_append import AppendOrigin
from ...storage.validation.record_sets import INLINE_BYTES, MAGIC_2_VERSION
from ...storage.validation.untouched import prepare_untouched
from ..metrics.request_metrics import RequestMeter
from ..network.connection import Peer, Reply
from .response import Outcome, note_failure, response_of

if TYPE_CHECKING:
    from ..broker import Broker
    from ..metadata.image import Cluster, Topic
    from ..metadata.partition import Partition
    from ..network.dispatch import Call

MOST_SHORTCUTS = 4096
LEARNED_OF_MANY = 64
"""With more beginnings in use than are kept, one in so many takes the oldest's place: learning costs more than the long
way."""
MOST_BEGINNING_BYTES = 512

_SPEC = API[ApiKey.PRODUCE]
_FIRST_FLEXIBLE = 9
_FIRST_WITH_LOG_START = 5
_HEAD = Struct(">hhih")  # key, version, correlation id, bytes of the client id
_CORRELATION_END = 8
_SIZE = Struct(">i")
_SIZE_AND_CORRELATION = Struct(">ii")
_OFFSET_AND_TIME = Struct(">qq")
_OFFSET_TIME_AND_START = Struct(">qqq")
_NO_TAGS = bytes(3)  # of the partition, the topic and the request, behind the records
_LEAST_BEHIND_BEGINNING = 5 + RECORD_BATCH_OVERHEAD  # the length takes up to 5
_LEAST_BYTES = 14 + _LEAST_BEHIND_BEGINNING
_OFFSET = Struct(">q")
_UNLIKE_TEXT = -0x0101010101010102  # none of its bytes is in UTF-8


class Shortcut:
    """What is known of the requests of one beginning, and the answer before and behind what differs."""

    __slots__ = (
        "after",
        "before",
        "bytes_in",
        "client_id",
        "conversion_seconds",
        "header_bytes",
        "is_deprecated",
        "messages_in",
        "meter",
        "no_errors",
        "partition",
        "partition_requests",
        "rules",
        "settings",
        "size",
        "temporary_bytes",
        "topic",
        "version",
        "waits_for_replicas",
    )

    def __init__(self, broker: "Broker", call: "Call", topic: "Topic", partition: "Partition", acks: int) -> None:
        self.version = call.version
        self.client_id = call.client_id
        self.header_bytes = _HEAD.size + len(self.client_id.encode()) + (call.version >= _FIRST_FLEXIBLE)
        self.is_deprecated = _SPEC.is_deprecated(call.version)
        self.topic = topic
        self.partition = partition
        self.settings = topic.settings
        self.rules = broker.append_rules.of(topic)
        self.waits_for_replicas = acks != 1
        metrics = broker.metrics
        self.partition_requests = metrics.produce_partition_requests.of(topic.name)
        self.bytes_in = metrics.bytes_in.of(topic.name)
        self.messages_in = metrics.messages_in.of(topic.name)
        self.temporary_bytes = metrics.temporary_bytes.of(_SPEC.name)
        self.conversion_seconds = metrics.conversion_seconds.of(_SPEC.name)
        self.no_errors = metrics.request_errors.of(_SPEC.name, ErrorCode.NONE.name)
        self.meter = RequestMeter(metrics, _SPEC.name, call.version)
        self.size, self.before, self.after = _answer_parts(call.version, topic.name, partition.index)

    def is_open(self, cluster: "Cluster") -> bool:
        """Whether all that the long way looks at before it looks at the records is as it was."""
        topic, partition = self.topic, self.partition
        if cluster.topics.get(topic.name) is not topic or topic.partitions.get(partition.index) is not partition:
            return False
        if topic.settings is not self.settings or partition.leader_id != cluster.node_id:
            return False
        return not self.waits_for_replicas or partition.is_alone

    def answer(self, correlation_id: int, info: AppendInfo) -> bytes:
        """The frame that says where the records went."""
        head = _SIZE_AND_CORRELATION.pack(self.size, correlation_id)
        if self.version >= _FIRST_WITH_LOG_START:
            place = _OFFSET_TIME_AND_START.pack(info.first_offset, info.log_append_time_ms, info.log_start_offset)
        else:
            place = _OFFSET_AND_TIME.pack(info.first_offset, info.log_append_time_ms)
        return head + self.before + place + self.after


class Shortcuts:
    """The shortcuts of one broker, by version and beginning of a request."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._known: dict[tuple[int, bytes], Shortcut] = {}
        self._passed_over = 0

    def __len__(self) -> int:
        return len(self._known)

    def answer(self, frame: memoryview, peer: Peer, began_s: float) -> Reply | None:
        """The reply to a request that may go the short way; None when it may not, and nothing was done for it."""
        broker = self._broker
        if len(frame) < _LEAST_BYTES or frame[1] or frame[0] or broker.interceptors:
            return None
        _, version, correlation_id, client_bytes = _HEAD.unpack_from(frame)
        end = _end_of_beginning(frame, version, client_bytes)
        key = version, frame[_CORRELATION_END:end].tobytes()
        way = self._known.get(key)
        if way is None:
            return None
        records = _records(frame, version, end)
        if records is None:
            return None
        if not way.is_open(broker.cluster):
            del self._known[key]
            return None
        prepared = prepare_untouched(records, way.rules, broker.clock.now_ms(), AppendOrigin.CLIENT)
        if prepared is None:
            return None
        peer.client_id = way.client_id
        way.partition_requests.value += 1.0
        way.temporary_bytes.observe_zero()
        way.conversion_seconds.observe_zero()
        partition = way.partition
        try:
            info = partition.log.append(prepared, leader_epoch=partition.leader_epoch)
            if not info.duplicate:
                broker.appended(partition)
        except Exception as error:  # as for one partition of several, which do not fail together
            return self._refused(way, correlation_id, peer, error, len(frame), began_s)
        way.bytes_in.value += len(records)
        way.messages_in.value += info.last_offset - info.first_offset + 1
        way.no_errors.value += 1.0
        return self._reply(way, [way.answer(correlation_id, info)], peer, len(frame), began_s)

    def _refused(
        self, way: Shortcut, correlation_id: int, peer: Peer, error: Exception, frame_bytes: int, began_s: float
    ) -> Reply:
        """What the long way answers when an append fails."""
        from ..network.dispatch import Call

        size = frame_bytes - way.header_bytes
        header = RequestHeader(_SPEC.key, way.version, correlation_id, way.client_id)
        call = Call(key=_SPEC.key, version=way.version, header=header, peer=peer, request=None, request_bytes=size)
        outcome = Outcome(topic=way.topic.name, index=way.partition.index, partition=way.partition, is_counted=True)
        failure = note_failure(self._broker, outcome, error, way.client_id)
        self._broker.metrics.request_errors.of(_SPEC.name, failure.code.name).add()
        pieces = encode_response(_SPEC, way.version, correlation_id, response_of(self._broker, [outcome], call))
        return self._reply(way, pieces, peer, frame_bytes, began_s)

    def _reply(self, way: Shortcut, pieces: list[Piece], peer: Peer, frame_bytes: int, began_s: float) -> Reply:
        meter, ready_s = way.meter, perf_counter()
        meter.handled(frame_bytes - way.header_bytes, ready_s - began_s, 0.0)
        if way.is_deprecated:
            meter.deprecated(peer.software_name, peer.software_version)
        return Reply(pieces, meter, began_s, ready_s)

    def learn(self, call: "Call", request: ProduceRequest, outcome: Outcome) -> None:
        """Opens a shortcut for requests like this one, of one partition, if the long way let it pass as it is."""
        partition, version = outcome.partition, call.version
        if outcome.error is not None or partition is None or request.acks not in (1, -1):
            return
        if version < MAGIC_2_VERSION or request.transactional_id is not None:
            return
        if len(self._known) >= MOST_SHORTCUTS:
            self._passed_over += 1
            if self._passed_over % LEARNED_OF_MANY:
                return
        topic = self._broker.cluster.topics[outcome.topic]
        rules = self._broker.append_rules.of(topic)
        data = request.topic_data[0].partition_data[0]
        if topic.is_internal or rules.codec or rules.stamps_append_time or not _is_plain(data.records):
            return
        beginning = _beginning(call, request)
        if len(beginning) > MOST_BEGINNING_BYTES or not _is_found_again(version, topic.name):
            return
        known = self._known.get((version, beginning))
        if known is not None and known.is_open(self._broker.cluster):
            return  # a client that writes the same in another way
        if len(self._known) >= MOST_SHORTCUTS:
            del self._known[next(iter(self._known))]
        self._known[version, beginning] = Shortcut(self._broker, call, topic, partition, request.acks)

    def forget(self, topics: Iterable["Topic"]) -> None:
        """Drops what is known of topics that were deleted."""
        gone = set(map(id, topics))
        self._known = {key: way for key, way in self._known.items() if id(way.topic) not in gone}


def _is_found_again(version: int, topic: str) -> bool:
    """Whether `_end_of_beginning` reads the length of the topic's name: one byte of it, where that is flexible."""
    return version < _FIRST_FLEXIBLE or len(topic.encode()) + 1 < 1 << 7


def _end_of_beginning(frame: memoryview, version: int, client_bytes: int) -> int:
    """Where the length of the records stands if this is a request for one partition; anywhere, if it is not."""
    at = _HEAD.size + client_bytes if client_bytes > 0 else _HEAD.size
    if at > MOST_BEGINNING_BYTES or at + _LEAST_BYTES > len(frame):
        return 0
    if version < _FIRST_FLEXIBLE:
        end = at + 22 + (frame[at + 12] << 8 | frame[at + 13])
    else:
        end = at + 14 + frame[at + 9]
    return end if end <= MOST_BEGINNING_BYTES else 0


def _records(frame: memoryview, version: int, at: int) -> memoryview | None:
    """The records whose length stands at `at`, if nothing else follows and they are for the short way."""
    end = len(frame)
    if end - at < _LEAST_BEHIND_BEGINNING:
        return None
    if version < _FIRST_FLEXIBLE:
        (size,) = _SIZE.unpack_from(frame, at)
        start = at + _SIZE.size
    else:
        size, start = read_uvarint(frame, at)
        size -= 1
        end -= len(_NO_TAGS)
        if frame[end:] != _NO_TAGS:
            return None
    if start + size != end or size > INLINE_BYTES:
        return None
    return None if frame[start + ATTRIBUTES_OFFSET + 1] else frame[start:end]


def _is_plain(records: Buffer | None) -> bool:
    """Whether attributes say: no codec, time of creation, no transaction, no control batch."""
    return records is not None and len(records) > RECORD_BATCH_OVERHEAD and not records[ATTRIBUTES_OFFSET + 1]


def _beginning(call: "Call", request: ProduceRequest) -> bytes:
    """What stands between the correlation id and the length of the records."""
    topic = request.topic_data[0]
    empty = PartitionProduceData(index=topic.partition_data[0].index, records=b"")
    alike = ProduceRequest(
        acks=request.acks,
        timeout_ms=request.timeout_ms,
        topic_data=(TopicProduceData(name=topic.name, partition_data=(empty,)),),
    )
    frame = _joined(encode_request(_SPEC, call.version, 0, call.header.client_id, alike))
    behind = _SIZE.size if call.version < _FIRST_FLEXIBLE else 1 + len(_NO_TAGS)  # a length, which is that of nothing
    return frame[SIZE_BYTES + _CORRELATION_END : -behind]


def _answer_parts(version: int, topic: str, index: int) -> tuple[int, bytes, bytes]:
    """The size that an answer announces, what stands between correlation id and offset, and what follows the places."""
    place = PartitionProduceResponse(index=index, error_code=ErrorCode.NONE, base_offset=_UNLIKE_TEXT)
    response = ProduceResponse(responses=(TopicProduceResponse(name=topic, partition_responses=(place,)),))
    frame = _joined(encode_response(_SPEC, version, 0, response))
    at = frame.index(_OFFSET.pack(_UNLIKE_TEXT))
    width = (_OFFSET_TIME_AND_START if version >= _FIRST_WITH_LOG_START else _OFFSET_AND_TIME).size
    return len(frame) - SIZE_BYTES, frame[_SIZE_AND_CORRELATION.size : at], frame[at + width :]


def _joined(pieces: list[Piece]) -> bytes:
    return b"".join(piece for piece in pieces if isinstance(piece, bytes | bytearray))
