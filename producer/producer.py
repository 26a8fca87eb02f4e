"""The producer that applications use.

    async with Producer("localhost:9092", linger_ms=5, compression="lz4") as producer:
        metadata = await producer.send("topic", b"value", key=b"key")

`send` never blocks: it returns a Delivery. Await it for the record's metadata, or await `accepted()` on it to be held
back while `buffer.memory` is full. A record waits in line for `max.block.ms` at most.
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from ..protocol.records.record import Header
from .accumulator import Accumulator, Entry
from .backoff import Backoff
from .clock import Clock, LoopClock, Timer
from .delivery import Callback, Delivery, RecordMetadata
from .errors import ProducerClosed, ProducerError, RecordTooLarge, Serialization
from .identity import Caller, IdempotentCaller
from .intake import Intake
from .link import Link
from .memory import BufferMemory
from .metadata import Metadata
from .meters import Meters
from .network import Network
from .ratios import SHARED, SHARED_KIP, CompressionRatios
from .records import encode_headers, size_bound
from .results import Results
from .sender import Sender
from .sequences import Sequences
from .settings import ProducerSettings, Setting, producer_settings
from .transaction_calls import OpenBatches, TransactionCalls
from .transactional_caller import TransactionalCaller
from .transactions import Transactions

Serializer = Callable[[str, Any, Sequence[Header]], bytes | None]
LinkMaker = Callable[[ProducerSettings, Clock, Callable[[], None]], Link]


class ProducerInterceptor(Protocol):
    """May change a record before it is sent, and sees its end."""

    def on_send(self, record: "ProducerRecord") -> "ProducerRecord": ...

    def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None: ...


class ProducerRecord:
    """What `send` was called with. Raises: ValueError for a negative partition or timestamp."""

    __slots__ = ("headers", "key", "partition", "timestamp", "topic", "value")

    def __init__(
        self,
        topic: str,
        value: Any = None,
        *,
        key: Any = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Iterable[Header] = (),
    ) -> None:
        if partition is not None and partition < 0:
            raise ValueError(f"partition {partition} of {topic} is negative")
        if timestamp is not None and timestamp < 0:
            raise ValueError(f"timestamp {timestamp} is negative")
        self.topic, self.value, self.key = topic, value, key
        self.partition, self.timestamp = partition, timestamp
        self.headers = tuple(headers.items()) if isinstance(headers, Mapping) else tuple(headers)


class Producer(TransactionCalls):
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
        self.meters = Meters(self._clock.now_ms)
        self.ratios = ratios if ratios is not None else SHARED_KIP if kip else SHARED
        self._make_link = link
        self._draws = draws or random.Random()
        self._wakeup = _Wakeup(self._clock)
        self._closed = False
        self._assemble()
        self._task: asyncio.Task[None] | None = None
        self._ended: asyncio.Future[None] | None = None

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
        self._intake = Intake(settings, self._metadata, self._accumulator, self.meters, self._wakeup.set, *told)
        self._results = Results(settings, self._accumulator, self._metadata, self.meters, self._caller)
        self._intake.interceptors = self._results.interceptors = self._interceptors
        if isinstance(caller, TransactionalCaller):
            caller.batches = OpenBatches(self._accumulator, self._intake, self._results)
            self._transactions = Transactions(caller, self._clock, settings.max_block_ms, self._wakeup.set)
        self.meters.gauges.update(
            {
                "buffer-total-bytes": lambda: self._memory.total_bytes,
                "buffer-available-bytes": lambda: self._memory.available_bytes,
                "waiting-threads": lambda: self._memory.waiting,
                "metadata-age": lambda: self._metadata.age_ms(self._clock.now_ms()) / 1000,
                "requests-in-flight": lambda: self._link.in_flight if self._task is not None else 0,
            }
        )

    def _make_caller(self, backoff: Backoff) -> Caller | None:
        if self.settings.transactional_id is not None:
            return TransactionalCaller(self.settings, self._clock.now_ms)
        return IdempotentCaller(Sequences(), backoff.delay_ms) if self.settings.idempotent else None

    # --- life ---------------------------------------------------------------------------------------------------------

    async def start(self) -> Self:
        """Itself, running; it connects when there is something to send."""
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
            self._wakeup.set,
        )
        self._task = asyncio.get_running_loop().create_task(self._run())
        return self

    async def close(self, timeout_ms: int | None = None) -> None:
        """Sends what is left and waits for its end; past `timeout_ms` the rest fails with ProducerClosed."""
        if self._task is None or self._closed:
            return
        self._closed = self._accumulator.closing = True
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
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._link.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(0 if kind is not None and issubclass(kind, asyncio.CancelledError) else None)

    async def _run(self) -> None:
        while True:
            delay_ms = self._sender.run_once(self._clock.now_ms())
            await self._wakeup.wait(delay_ms)

    def _force_end(self) -> None:
        error = ProducerClosed("the producer was closed before the record was acknowledged")
        if isinstance(self._caller, TransactionalCaller):
            self._caller.fail(error)
        self._intake.refuse_all(error)
        in_flight = [batch for batches in self._results.in_flight.values() for batch in batches]
        for batch in (*in_flight, *self._accumulator.take_all()):
            self._results.fail(batch, error)

    # --- sending ------------------------------------------------------------------------------------------------------

    def send(
        self,
        topic: str,
        value: Any = None,
        *,
        key: Any = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Iterable[Header] | Mapping[str, bytes | None] = (),
        callback: Callback | None = None,
    ) -> Delivery:
        """The delivery of a record: await it for the RecordMetadata. Timestamps are in ms since 1970.

        Raises: ValueError for a negative partition or timestamp, Serialization, ProducerClosed, WrongState outside of a
        transaction where there have to be some. Whatever else goes wrong the delivery and the callback are told.
        """
        if self._closed or self._task is None:
            raise ProducerClosed("the producer is closed" if self._closed else "the producer has not been started")
        record = ProducerRecord(
            topic,
            value,
            key=key,
            partition=partition,
            timestamp=timestamp,
            headers=headers,  # type: ignore[arg-type]  # a mapping is taken apart there
        )
        for interceptor in self._interceptors:
            record = self._intercepted(interceptor, record)
        return self._take(record, callback)

    def _take(self, record: ProducerRecord, callback: Callback | None) -> Delivery:
        now_ms = self._clock.now_ms()
        key = self._bytes(self._key_serializer, record, record.key, "key")
        value = self._bytes(self._value_serializer, record, record.value, "value")
        timestamp = now_ms if record.timestamp is None else record.timestamp
        bound = size_bound(key, value, record.headers)
        delivery = Delivery(
            record.topic, timestamp, -1 if key is None else len(key), -1 if value is None else len(value), callback
        )
        error = self._unsendable(record, bound)
        if error is not None:
            delivery.refuse(error, -1 if record.partition is None else record.partition, self._interceptors)
            return delivery
        headers = encode_headers(record.headers)
        entry = Entry(timestamp=timestamp, key=key, value=value, headers=headers, bound_bytes=bound, delivery=delivery)
        self._intake.take(record.topic, record.partition, entry, now_ms)
        return delivery

    def _unsendable(self, record: ProducerRecord, bound: int) -> ProducerError | None:
        if self._caller is not None and (refusal := self._caller.refusal()) is not None:
            return refusal
        for name, most in (
            ("max.request.size", self.settings.max_request_size),
            ("buffer.memory", self.settings.buffer_memory),
        ):
            if bound > most:
                error = RecordTooLarge(f"a record for {record.topic} takes up to {bound} bytes, {name} is {most}")
                if isinstance(self._caller, TransactionalCaller):
                    self._caller.batch_failed(error)
                return error
        return None

    def _intercepted(self, interceptor: ProducerInterceptor, record: ProducerRecord) -> ProducerRecord:
        """What the interceptor made of it; the record as it was when the interceptor failed."""
        try:
            return interceptor.on_send(record)
        except Exception as fault:
            context = {"message": f"an interceptor failed on a record for {record.topic}", "exception": fault}
            asyncio.get_running_loop().call_exception_handler(context)
            return record

    @staticmethod
    def _bytes(serializer: Serializer | None, record: ProducerRecord, value: Any, part: str) -> bytes | None:
        if serializer is None:
            if value is None or isinstance(value, bytes):
                return value
            if isinstance(value, bytearray | memoryview):
                return bytes(value)
            raise Serialization(f"the {part} of a record for {record.topic} is {type(value).__name__}, not bytes")
        try:
            return serializer(record.topic, value, record.headers)
        except Exception as fault:
            raise Serialization(f"the {part} of a record for {record.topic} cannot be serialized: {fault}") from fault

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
        while (oldest := self._accumulator.oldest_live()) is not None and oldest <= last_number:
            batch = next(iter(self._accumulator.live[oldest]))
            await batch.ended_or_split()

    # --- telling ------------------------------------------------------------------------------------------------------

    def metrics(self) -> dict[str, float]:
        """Kafka's group `producer-metrics`, by name."""
        return self.meters.snapshot()

    def topic_metrics(self) -> dict[str, dict[str, float]]:
        """Kafka's group `producer-topic-metrics`, by topic and name."""
        return self.meters.topic_snapshot()


class _Wakeup:
    """The sender's sleep: ends when the time is over or something happens."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._awake = False
        self._sleeper: asyncio.Future[None] | None = None

    def set(self) -> None:
        self._awake = True
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)

    async def wait(self, delay_ms: int) -> None:
        if self._awake or delay_ms <= 0:
            self._awake = False
            await asyncio.sleep(0)
            return
        self._sleeper = asyncio.get_running_loop().create_future()
        timer: Timer = self._clock.call_later(min(delay_ms, 1 << 31), self.set)
        try:
            await self._sleeper
        finally:
            timer.cancel()
            self._sleeper, self._awake = None, False
