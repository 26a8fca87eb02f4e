"""Writes records with the producer that applications use; for `--as` it believes that the broker is older."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from ...client.versions import VersionRange, VersionRanges
from ...config import ConfigError
from ...producer import Producer, ProducerRecord, RecordMetadata
from ...producer.clock import Clock
from ...producer.errors import ProducerError
from ...producer.injected_dependencies import Dependencies
from ...producer.limited_log import LimitedLog
from ...producer.network.connections import Connections
from ...producer.sender.network_interface import NetworkClient
from ...producer.settings import ProducerSettings
from ...protocol.api import ApiKey
from ...protocol.plural import plural
from ...protocol.records.layout import NO_TIMESTAMP
from ..support.failures import EXIT_BAD_USAGE, CommandFailure
from ..support.record_formats import RecordFormat
from ..support.record_json import NewRecord
from .topic_lookup import TopicLookup

RECORDS_PER_TURN = 256
GIVE_UP_MS = 5_000
"""How long records that were read before a bad line have to be written, also if the broker is gone."""

BATCHING = {"linger.ms": "5", "batch.size": "131072"}
"""A pipe brings records faster than batches of 16 KiB are sent one by one."""

HINTS = {
    "MESSAGE_TOO_LARGE": "Raise max.message.bytes of the topic, and -X max.request.size=BYTES here.",
    "UNSUPPORTED_VERSION": "The broker may be too new for --as, or too old for headers.",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": "Headers need the format v2.",
    "UNSUPPORTED_COMPRESSION_TYPE": "zstd needs Produce 7, lz4, snappy and gzip are understood by all.",
    "INVALID_RECORD": "A compacted topic takes no record without a key.",
    "TOPIC_AUTHORIZATION_FAILED": "The broker's ACLs do not let you write there.",
}
"""The next step for the user, by the error code of a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDestination:
    """Where records go. `topic` and `partition` override those of a record; partition -1: the partitioner chooses."""

    topic: str | None
    partition: int | None

    def topic_of(self, record: NewRecord) -> str:
        topic = self.topic or record.topic
        if not topic:
            raise ValueError("it names no topic, and neither does the command")
        return topic

    def partition_of(self, record: NewRecord) -> int | None:
        partition = record.partition if self.partition is None else self.partition
        return None if partition is None or partition < 0 else partition


class OlderBrokerConnections(Connections):
    """Connections that limit the Produce versions of brokers to those of an older one."""

    def __init__(self, produce: VersionRange, settings: ProducerSettings, clock: Clock, changed: object) -> None:
        super().__init__(settings, clock, changed)  # type: ignore[arg-type]  # passed on unchanged
        self._produce = produce
        self._log = LimitedLog("stepdown", clock.now_ms)  # in front of what the command says

    def versions(self, node_id: int) -> VersionRanges:
        ranges = super().versions(node_id)
        low, high = ranges.get(ApiKey.PRODUCE, (0, -1))
        return {**ranges, ApiKey.PRODUCE: (max(low, self._produce[0]), min(high, self._produce[1]))}


class TimestampRemover:
    """An interceptor that removes the timestamp of a record while `next` is set; the producer always sets one."""

    def __init__(self) -> None:
        self.next = False

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        if self.next:
            record.timestamp = NO_TIMESTAMP
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None: ...


class RecordWriter:
    """Writes record after record; `async with` it. Records without a timestamp are written only with `is_untimed`.

    Raises: CommandFailure from `write` and at the end of the block.
    """

    def __init__(
        self,
        bootstrap: str,
        settings: Mapping[str, str],
        form: RecordFormat,
        destination: RecordDestination,
        targets: TopicLookup,
        *,
        is_untimed: bool,
    ) -> None:
        self._destination, self._targets, self._form = destination, targets, form
        self._untimed = TimestampRemover()
        self._failure: tuple[int, ProducerError] | None = None
        self._is_hurried = False
        self.written = self._taken = 0

        def link(chosen: ProducerSettings, clock: Clock, changed: object) -> NetworkClient:
            return OlderBrokerConnections(form.produce, chosen, clock, changed)

        class ForOlderBroker(Producer):
            def _make_dependencies(self) -> Dependencies:
                return Dependencies(link=link)

        try:
            # An interceptor makes each send slower.
            interceptors = (self._untimed,) if is_untimed else ()
            self._producer = ForOlderBroker(bootstrap, interceptors=interceptors, configs=BATCHING | dict(settings))
        except ConfigError as fault:
            raise CommandFailure(str(fault), "", EXIT_BAD_USAGE) from fault

    @property
    def most_record_bytes(self) -> int:
        """The largest size of a record."""
        return self._producer.settings.max_request_size

    async def __aenter__(self) -> RecordWriter:
        await self._producer.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: object) -> None:
        await self._producer.close(GIVE_UP_MS if kind is not None or self._is_hurried else None)
        if kind is None:
            self._raise_failure()

    def shorten_timeouts(self) -> None:
        """At the end of the block, pending records get a few seconds instead of the delivery timeout."""
        self._is_hurried = True

    async def write(self, record: NewRecord) -> None:
        """Returns when the record is in a batch. Raises: ValueError for a record that cannot be sent."""
        self._raise_failure()
        topic, partition = self._destination.topic_of(record), self._destination.partition_of(record)
        if record.headers and not self._form.has_headers:
            raise ValueError(f"it has headers, which the format {self._form.name} has not")
        if not self._targets.is_known(topic, partition):
            await asyncio.to_thread(self._targets.check_exists, topic, partition)
        self._taken += 1
        self._untimed.next = record.timestamp == NO_TIMESTAMP
        delivery = self._producer.send(
            topic,
            record.value,
            key=record.key,
            partition=partition,
            timestamp=None if record.timestamp == NO_TIMESTAMP else record.timestamp,
            headers=record.headers,
            callback=partial(self._take_result, self._taken),
        )
        if self._taken % RECORDS_PER_TURN == 0:
            await asyncio.sleep(0)
        await delivery.accepted()

    def _take_result(self, number: int, metadata: RecordMetadata, error: ProducerError | None) -> None:
        if error is None:
            self.written += 1
        elif self._failure is None:
            self._failure = number, error

    def _raise_failure(self) -> None:
        if self._failure is not None:
            number, error = self._failure
            written = plural(self.written, "record") if self.written else "no record"
            verb = "were" if self.written > 1 else "was"
            raise CommandFailure(
                f"record {number} was not written: {error}; {written} {verb} written", HINTS.get(error.code.name, "")
            )
