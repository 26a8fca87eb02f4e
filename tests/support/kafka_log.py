"""One log of Apache Kafka 3.9.1, appended to through the Java oracle: what Kafka answers and what lies in its file."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .java_oracle import JavaOracle

CLIENT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A record set handed to the log at `now_ms`; `api_version` -1 skips the checks of the produce request."""

    records: bytes
    now_ms: int
    api_version: int = -1
    origin: int = CLIENT
    leader_epoch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    first_offset: int
    last_offset: int
    log_append_time_ms: int
    max_timestamp: int
    conversions: int
    temporary_bytes: int
    valid_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    code: int
    class_name: str
    message: str
    record_errors: tuple[tuple[int, str], ...]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(">" + layout, self._data, self._at)
        self._at += struct.calcsize(">" + layout)
        return values

    def bytes(self, length: int) -> bytes:
        data = self._data[self._at : self._at + length]
        self._at += length
        return data

    @property
    def has_more(self) -> bool:
        return self._at < len(self._data)

    def string(self) -> str:
        return self.bytes(self.take("h")[0]).decode()


def _nullable(reader: _Reader) -> bytes | None:
    is_there, size = reader.take("bi")
    data = reader.bytes(size)
    return data if is_there else None


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _refused(reader: _Reader) -> Refused:
    (code,) = reader.take("h")
    class_name, message = reader.string(), reader.string()
    errors = tuple((reader.take("i")[0], reader.string()) for _ in range(reader.take("i")[0]))
    return Refused(code=code, class_name=class_name, message=message, record_errors=errors)


def _appended(reader: _Reader) -> Appended:
    first, last, append_time, newest, conversions, temporary, valid = reader.take("qqqqiii")
    return Appended(
        first_offset=first,
        last_offset=last,
        log_append_time_ms=append_time,
        max_timestamp=newest,
        conversions=conversions,
        temporary_bytes=temporary,
        valid_bytes=valid,
    )


def append_to_kafka(
    oracle: JavaOracle, config: Mapping[str, str], attempts: Sequence[Attempt]
) -> tuple[list[Appended | Refused], bytes]:
    """What Kafka made of each attempt, in order, on a new log with this topic config; and the bytes of its segment.

    There is one segment unless `config` says otherwise.
    """
    config = {"segment.ms": str((1 << 63) - 1), **config}
    payload = struct.pack(">h", len(config)) + b"".join(_string(k) + _string(v) for k, v in config.items())
    payload += struct.pack(">i", len(attempts))
    for attempt in attempts:
        payload += struct.pack(">qhbi", attempt.now_ms, attempt.api_version, attempt.origin, attempt.leader_epoch)
        payload += struct.pack(">i", len(attempt.records)) + attempt.records
    reader = _Reader(oracle.call("AppendLog.run", payload))
    outcomes = [_refused(reader) if reader.take("b")[0] else _appended(reader) for _ in attempts]
    return outcomes, reader.bytes(reader.take("i")[0])


def load_by_kafka(
    oracle: JavaOracle, folder: Path, log_start: int, recovery_point: int
) -> dict[int, tuple[bytes | None, bytes | None]]:
    """Keys and values by offset of what Kafka serves of a log that it loads after a crash.

    Raises: JavaError where Kafka does not load it.
    """
    payload = _string(str(folder)) + struct.pack(">qq", log_start, recovery_point)
    reader = _Reader(oracle.call("LoadLog.run", payload))
    found = {}
    while reader.has_more:
        (offset,) = reader.take("q")
        found[offset] = (_nullable(reader), _nullable(reader))
    return found
