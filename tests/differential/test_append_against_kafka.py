"""`storage.append.prepare` against Kafka 3.9.1's own log: the same verdict, offsets, timestamps and bytes each time."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from stepdown.protocol.errors import ApiError, ErrorCode
from stepdown.protocol.records.batch import RecordBatch
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import Codec
from stepdown.storage.validation.append_rules import AppendRules
from stepdown.storage.validation.errors import RecordErrors
from stepdown.storage.validation.prepared_append import PreparedAppend
from stepdown.storage.validation.record_sets import prepare
from support.java_oracle import JavaOracle
from support.kafka_log import Appended, Attempt, Refused, append_to_kafka
from support.record_sets import NOW, inputs

pytestmark = pytest.mark.java

MAX_MESSAGE_BYTES = 2500
LEADER_EPOCH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic's settings, as Kafka and as the rules say them."""

    compression: str
    append_time: bool = False
    strict: bool = False

    @property
    def config(self) -> dict[str, str]:
        config = {
            "compression.type": self.compression,
            "message.timestamp.type": "LogAppendTime" if self.append_time else "CreateTime",
            "max.message.bytes": str(MAX_MESSAGE_BYTES),
        }
        if self.strict:
            config |= {
                "cleanup.policy": "compact",
                "message.timestamp.before.max.ms": "60000",
                "message.timestamp.after.max.ms": "60000",
            }
        return config

    @property
    def rules(self) -> AppendRules:
        codecs = {"producer": None, "uncompressed": Codec.NONE}
        limits = {"timestamp_before_max_ms": 60000, "timestamp_after_max_ms": 60000} if self.strict else {}
        return AppendRules(
            max_message_bytes=MAX_MESSAGE_BYTES,
            codec=codecs[self.compression] if self.compression in codecs else Codec[self.compression.upper()],
            stamps_append_time=self.append_time,
            compacted=self.strict,
            **limits,
        )


TOPICS = [
    Topic(compression="producer"),
    Topic(compression="producer", append_time=True),
    Topic(compression="producer", strict=True),
    Topic(compression="uncompressed"),
    Topic(compression="uncompressed", append_time=True, strict=True),
    Topic(compression="gzip", append_time=True),
    Topic(compression="lz4", strict=True),
    Topic(compression="snappy"),
    Topic(compression="zstd"),
]

# Kafka lets an exception of its own through for these and answers UNKNOWN_SERVER_ERROR; we say what is wrong.
UNKNOWN_SERVER_ERROR = -1
CLEAR_ERRORS = (ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_TIMESTAMP)

# Kafka does not look at the length of a record in a compressed batch that it keeps: no consumer can read this one.
LET_THROUGH = ("a record length past the end",)


def _topic_name(topic: Topic) -> str:
    return "-".join([topic.compression, "append" if topic.append_time else "create"] + ["strict"] * topic.strict)


def _ours(
    data: bytes, rules: AppendRules, api_version: int | None, next_offset: int
) -> tuple[PreparedAppend | ApiError, bytes]:
    try:
        prepared = prepare(memoryview(data), rules, now_ms=NOW, api_version=api_version)
    except ApiError as error:
        return error, b""
    return prepared, b"".join(prepared.pieces(next_offset, LEADER_EPOCH)) if prepared.head else b""


def _check_verdict(name: str, theirs: Appended | Refused, ours: PreparedAppend | ApiError) -> None:
    if isinstance(theirs, Refused):
        assert isinstance(ours, ApiError), f"{name}: Kafka refuses it: {theirs}"
        expected = CLEAR_ERRORS if theirs.code == UNKNOWN_SERVER_ERROR else (theirs.code,)
        assert ours.code in expected, f"{name}: {theirs} != {ours!r}"
        indexes = [index for index, _ in theirs.record_errors]
        assert indexes == ([index for index, _ in ours.errors] if isinstance(ours, RecordErrors) else []), name
        return
    assert isinstance(ours, PreparedAppend), f"{name}: Kafka takes it: {theirs}, {ours!r}"
    if not ours.head:
        assert theirs.first_offset == -1, name
        return
    assert ours.record_count == theirs.last_offset - theirs.first_offset + 1, name
    assert ours.log_append_time_ms == theirs.log_append_time_ms, name
    assert ours.max_timestamp == theirs.max_timestamp, name
    assert ours.conversions == theirs.conversions, name
    assert ours.received_bytes == theirs.valid_bytes, name
    assert ours.temporary_bytes == theirs.temporary_bytes, name


def _content(data: bytes) -> list[object]:
    """Plain batches as their bytes; compressed ones, whose bytes depend on the library, as all that they say."""
    content: list[object] = []
    for batch in iter_batches(data):
        assert isinstance(batch, RecordBatch)
        batch.ensure_valid()
        if not batch.is_compressed:
            content.append(bytes(batch.data))
            continue
        fields = [getattr(batch, name) for name in sorted(RecordBatch.__slots__) if name not in _OF_THE_LIBRARY]
        content.append((fields, list(batch.records())))
    return content


_OF_THE_LIBRARY = ("crc", "data", "size_bytes")


@pytest.mark.parametrize("topic", TOPICS, ids=_topic_name)
@pytest.mark.parametrize(
    ("magic", "codec"),
    [(magic, codec) for magic in (0, 1, 2) for codec in Codec if codec is not Codec.ZSTD or magic == 2],
    ids=lambda value: value.name.lower() if isinstance(value, Codec) else f"v{value}",
)
def test_the_log_takes_what_kafka_takes(
    java_oracle: Callable[..., JavaOracle], topic: Topic, magic: int, codec: Codec
) -> None:
    sets = {name: data for name, data in inputs(magic, codec).items() if codec is Codec.NONE or name not in LET_THROUGH}
    versions = [3 if magic == 2 and codec is not Codec.ZSTD else None, None]
    attempts = [(name, data, version) for version in versions for name, data in sets.items()]
    theirs, their_log = append_to_kafka(
        java_oracle("append"),
        topic.config,
        [
            Attempt(records=data, now_ms=NOW, api_version=-1 if version is None else version, leader_epoch=LEADER_EPOCH)
            for _, data, version in attempts
        ],
    )
    our_log = bytearray()
    next_offset = 0
    sequenced = False
    for (name, data, version), verdict in zip(attempts, theirs, strict=True):
        ours, written = _ours(data, topic.rules, version, next_offset)
        repeated = name == "an idempotent batch" and sequenced and isinstance(ours, PreparedAppend)
        if repeated:
            continue  # a duplicate: the log's producer state answers it, not the preparation
        sequenced = sequenced or (name == "an idempotent batch" and isinstance(ours, PreparedAppend))
        _check_verdict(name, verdict, ours)
        our_log += written
        next_offset += ours.record_count if isinstance(ours, PreparedAppend) else 0
    assert _content(bytes(our_log)) == _content(their_log)
