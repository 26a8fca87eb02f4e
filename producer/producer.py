"""The producer that applications use.

    async with Producer("localhost:9092", linger_ms=5, compression="lz4") as producer:
        metadata = await producer.send("topic", b"value", key=b"key")

`send` never blocks: it returns a Delivery. Await it for the record's metadata, or await `accepted()` on it to be held
back while `buffer.memory` is full. A record waits in line for `max.block.ms` at most.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..protocol.records.record import Header
from .accumulator.append import Appender
from .accumulator.batch_layout import LEAST_BOUND, NO_HEADERS, encode_headers
from .accumulator.batch_outcome import Callback, telling
from .accumulator.buffer_memory import BufferMemory
from .accumulator.compression_estimator import SHARED, SHARED_KIP, CompressionRatios
from .accumulator.fast_send import FastSend
from .accumulator.record_accumulator import Accumulator
from .clock import Clock
from .errors import ProducerClosed, ProducerError, RecordTooLarge, Serialization, WrongState
from .future import Delivery
from .loop_clock import LoopClock
from .metrics.metrics import ProducerMetrics
from .network.backoff import Backoff
from .network.connections import Network
from .network.metadata import Metadata
from .record import Headers, ProducerInterceptor, ProducerRecord, ensure_valid, headers_of
from .sender.network_client import NetworkClient
from .sender.produce_results import Results
from .sender.producer_id import Caller, IdempotentCaller
from .sender.sender import Sender
from .sender.sequence_numbers import Sequences
from .sender.wake_up import WakeUp
from .settings import ProducerSettings, Setting, producer_settings
from .transactions.caller import TransactionalCaller
from .transactions.calls import OpenBatches, TransactionCalls
from .transactions.transactions import Transactions

if TYPE_CHECKING:
    from prometheus_client.registry import CollectorRegistry

log = logging.getLogger("stepdown.producer")

Serializer = Callable[[str, Any, Sequence[Header]], bytes | None]
LinkMaker = Callable[[ProducerSettings, Clock, Callable[[], None]], NetworkClient]


class Producer(FastSend, TransactionCalls):
    """An asyncio producer. Start and end it with `async with`, or with `start` and `close`.

    Settings go by Kafka's names, with `_` for `.` or as `**{"batch.size": …}`. `conformance="kip"` follows the text of
    the proposals where Kafka 3.9 does otherwise. `clock`, `link` and `draws` are for tests.
    Raises: ConfigError with everything that is wrong with the settings.
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        *,
        key_serializer: Serializer | None = None,
        value_serializer: Serializer | None = None,
        interceptors: Sequence[ProducerInterceptor] = (),
        conformance: str = "3.9",
        clock: Clock | None = None,
        link: LinkMaker = Network,
        draws: random.Random | None = None,
        ratios: CompressionRatios | None = None,
        **settings: Setting,
    ) -> None:
        if conformance not in ("3.9", "kip"):
            raise ValueError(f'conformance is "3.9" or "kip", not {conformance!r}')
        kip = conformance == "kip"
        servers = bootstrap_servers if isinstance(bootstrap_servers, str) else ",".join(bootstrap_servers)
        self.settings = producer_settings({"bootstrap.servers": servers} | settings, kip=kip)
        self._clock: Clock = clock or LoopClock()
        self._key_serializer, self._value_serializer = key_serializer, value_serializer
        self._interceptors = tuple(interceptors)
        self.meters = ProducerMetrics(self._clock.now_ms)
        self.ratios = ratios if ratios is not None else SHARED_KIP if kip else SHARED
        self._make_link = link
        self._draws = draws or random.Random()
        self._wakeup = WakeUp(self._clock, self._beat)
        self._closed = self._taking = False
        self._most_bytes = min(self.settings.max_request_size, self.settings.buffer_memory)
        self._assemble()
        self._started = False
        for warning in self.settings.warnings:
            log.warning("%s: %s", self.settings.client_id, warning)

    def _assemble(self) -> None:
        settings = self.settings
        backoff = Backoff(initial_ms=settings.retry_backoff_ms, max_ms=settings.retry_backoff_max_ms, draws=self._draws)
        self._caller = self._make_caller(backoff)
        self._memory = BufferMemory(settings.buffer_memory)
        self._metadata = Metadata(
            max_age_ms=settings.metadata_max_age_ms, max_idle_ms=settings.metadata_max_idle_ms, backoff=backoff
        )
        sequences = self._caller.sequences if self._caller is not None else None
        self._accumulator = Accumulator(settings, self._memory, self.ratios, sequences, self._draws)
        caller = self._caller
        told = (caller.appended, caller.batch_failed) if isinstance(caller, TransactionalCaller) else (None, None)
        self._intake = Appender(settings, self._metadata, self._accumulator, self.meters, self._wakeup.set, *told)
        serializing = self._key_serializer is not None or self._value_serializer is not None
        self._lanes = {} if serializing or self._interceptors else self._intake.lanes
        self._results = Results(settings, self._accumulator, self._metadata, self.meters, self._caller)
        if isinstance(caller, TransactionalCaller):
            caller.batches = OpenBatches(self._accumulator, self._intake, self._results)
            self._transactions = Transactions(caller, self._clock, settings.max_block_ms, self._wakeup.set)
        self.meters.gauges.update(
            {
                "buffer-total-bytes": lambda: self._memory.total_bytes,
                "buffer-available-bytes": lambda: self._memory.available_bytes,
                "waiting-threads": lambda: self._memory.waiting,
                "metadata-age": lambda: self._metadata.age_ms(self._clock.now_ms()) / 1000,
                "requests-in-flight": lambda: self._link.in_flight if self._started else 0,
            }
        )

    def _make_caller(self, backoff: Backoff) -> Caller | None:
        if self.settings.transactional_id is not None:
            return TransactionalCaller(self.settings, self._clock.now_ms)
        return IdempotentCaller(Sequences(), backoff.delay_ms) if self.settings.idempotent else None

    # --- life ---------------------------------------------------------------------------------------------------------

    async def start(self) -> Self:
        """Itself, running; it connects when there is something to send.

        Raises: WrongState when it was started before.
        """
        if self._started:
            raise WrongState("a producer is started once; make another one")
        self._link = self._make_link(self.settings, self._clock, self._wakeup.set)
        self._sender = Sender(
            self.settings,
            self._metadata,
            self._accumulator,
            self._intake,
            self._results,
            self._link,
            self.meters,
            self._caller,
            self._clock.now_ms,
            self._wakeup,
        )
        self._started = self._taking = True
        self._wakeup.start()
        return self

    async def close(self, timeout_ms: int | None = None) -> None:
        """Sends what is left and waits for its end; past `timeout_ms` the rest fails with ProducerClosed."""
        if not self._started or self._closed:
            return
        self._closed = self._accumulator.closing = True
        self._taking = False
        self._lanes.clear()
        self._wakeup.set()
        timer = self._clock.call_later(timeout_ms, self._force_end) if timeout_ms else None
        if timeout_ms == 0:
            self._force_end()
        try:
            await self._all_done(self._accumulator.last_number)
            if self._transactions is not None:
                await self._transactions.end_open()
        finally:
            self._force_end()
            if timer is not None:
                timer.cancel()
            self._wakeup.stop()
            self._link.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(0 if kind is not None and issubclass(kind, asyncio.CancelledError) else None)

    def _beat(self, now_ms: int) -> int:
        return self._sender.run_once(now_ms)

    def _force_end(self) -> None:
        error = ProducerClosed("the producer was closed before the record was acknowledged")
        if isinstance(self._caller, TransactionalCaller):
            self._caller.fail(error)
        self._intake.refuse_all(error)
        in_flight = [batch for batches in self._results.in_flight.values() for batch in batches]
        for batch in (*in_flight, *self._accumulator.take_all()):
            self._results.fail(batch, error)

    # --- sending ------------------------------------------------------------------------------------------------------

    def _send(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        timestamp: int | None,
        headers: Headers,
        callback: Callback | None,
    ) -> Delivery:
        """What `send` does with a record that no lane takes."""
        if not self._taking:
            raise ProducerClosed("the producer is closed" if self._closed else "the producer has not been started")
        if self._interceptors:
            record = ProducerRecord(topic, value, key=key, partition=partition, timestamp=timestamp, headers=headers)
            for interceptor in self._interceptors:
                record = self._intercepted(interceptor, record)
            topic, value, key, headers = record.topic, record.value, record.key, record.headers
            partition, timestamp = record.partition, record.timestamp
            callback = telling(self._interceptors, callback)
        else:
            ensure_valid(topic, partition, timestamp)
        now_ms = self._clock.now_ms()
        if timestamp is None:
            timestamp = now_ms
        encoded, bound, key_size, value_size = NO_HEADERS, LEAST_BOUND, -1, -1
        if headers:
            headers = headers_of(headers)
            encoded = encode_headers(headers)
            bound += len(encoded)
        if self._key_serializer is not None or (key is not None and type(key) is not bytes):
            key = self._bytes(self._key_serializer, topic, headers, key, "key")
        if key is not None:
            key_size = len(key)
            bound += key_size
        if self._value_serializer is not None or (value is not None and type(value) is not bytes):
            value = self._bytes(self._value_serializer, topic, headers, value, "value")
        if value is not None:
            value_size = len(value)
            bound += value_size
        delivery = Delivery(topic, timestamp, key_size, value_size, callback)
        error = self._caller.refusal() if self._caller is not None else None
        if error is None and bound > self._most_bytes:
            error = self._too_large(topic, bound)
        if error is not None:
            delivery.refuse(error, -1 if partition is None else partition)
        else:
            self._intake.take(topic, partition, (timestamp, key, value, encoded, bound, delivery), now_ms)
        return delivery

    def _too_large(self, topic: str, bound: int) -> ProducerError:
        limits = {"max.request.size": self.settings.max_request_size, "buffer.memory": self.settings.buffer_memory}
        name, most = next((name, most) for name, most in limits.items() if bound > most)
        error = RecordTooLarge(f"a record for {topic} takes up to {bound} bytes, {name} is {most}")
        if isinstance(self._caller, TransactionalCaller):
            self._caller.batch_failed(error)
        return error

    def _intercepted(self, interceptor: ProducerInterceptor, record: ProducerRecord) -> ProducerRecord:
        """What the interceptor made of it; the record as it was when the interceptor failed."""
        try:
            return interceptor.on_send(record)
        except Exception as fault:
            context = {"message": f"an interceptor failed on a record for {record.topic}", "exception": fault}
            asyncio.get_running_loop().call_exception_handler(context)
            return record

    @staticmethod
    def _bytes(serializer: Serializer | None, topic: str, headers: Headers, value: Any, part: str) -> bytes | None:
        if serializer is not None:
            try:
                value = serializer(topic, value, headers_of(headers))
            except Exception as fault:
                raise Serialization(f"the {part} of a record for {topic} cannot be serialized: {fault}") from fault
        if value is None or type(value) is bytes:
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        raise Serialization(f"the {part} of a record for {topic} is {type(value).__name__}, not bytes")

    async def flush(self) -> None:
        """Returns when everything sent before has ended; splits are followed. Nothing lingers meanwhile."""
        started = time.perf_counter_ns()
        self._accumulator.flushes += 1
        self._wakeup.set()
        try:
            for entry in self._intake.waiting:
                await entry.delivery.accepted()
            await self._all_done(self._accumulator.last_number)
        finally:
            self._accumulator.flushes -= 1
            self.meters.elapsed_ns["flush"] += time.perf_counter_ns() - started

    async def _all_done(self, last_number: int) -> None:
        """Waits for the batches up to that number, and what became of them by splits."""
        while self._intake.waiting and self._closed:
            await self._intake.waiting[0].delivery.accepted()
            last_number = self._accumulator.last_number
        # Most batches end in their order, so few besides the newest have to be waited for.
        while (batch := self._accumulator.newest_live(last_number)) is not None:
            await batch.ended_or_split()

    # --- telling ------------------------------------------------------------------------------------------------------

    @property
    def client_id(self) -> str:
        """The name that brokers and metrics know it by."""
        return self.settings.client_id

    @property
    def closed(self) -> bool:
        """Whether it takes no more records."""
        return self._closed

    def register_metrics(self, registry: "CollectorRegistry") -> None:
        """Has a Prometheus registry tell of both groups, under Kafka's names as `prometheus.py` spells them."""
        # Imported here, since it takes as long as all the rest.
        from .metrics.prometheus import register

        register(self, registry)

    def metrics(self) -> dict[str, float]:
        """Kafka's group `producer-metrics`, by name."""
        return self.meters.snapshot()

    def topic_metrics(self) -> dict[str, dict[str, float]]:
        """Kafka's group `producer-topic-metrics`, by topic and name."""
        return self.meters.topic_snapshot()
