"""The producer that applications use.

    async with Producer("localhost:9092", linger_ms=5, compression="lz4") as producer:
        metadata = await producer.send("topic", b"value", key=b"key")

`send` never waits: it returns a Delivery. Await it for the record's metadata, or await `accepted()` on it to be held
back while `buffer.memory` is full. A record waits in line for `max.block.ms` at most, and lines are bounded.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from ssl import SSLContext
from threading import get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from ..client.security.settings import TokenProvider
from ..protocol.records.layout import NO_TIMESTAMP
from ..protocol.records.record import Header
from .accumulator.appender import Appender
from .accumulator.buffer_memory import BufferMemory
from .accumulator.record_accumulator import Accumulator
from .accumulator.sequence_numbers import SequenceNumbers
from .awaited_result import AwaitedResult
from .backoff import Backoff
from .delivery import Callback, Delivery, RecordMetadata
from .errors import FOREIGN_FAULTS, ProducerClosed, ProducerError, RecordTooLarge, Serialization, WrongState
from .fast_send import FastSend
from .injected_dependencies import Dependencies
from .interceptors import make_callback_after_interceptors
from .limited_log import LimitedLog
from .metadata import Metadata
from .metrics.metrics import ProducerMetrics
from .pending_record import PendingRecord
from .record import Headers, ProducerInterceptor, ProducerRecord, Serializer, ensure_callable, ensure_valid, headers_of
from .record_encoding import encode_headers, most_bytes
from .sender.call_source import CallSource
from .sender.produce_results import ProduceResultHandler
from .sender.producer_id import ProducerIdCallSource
from .sender.sender import Sender
from .sender.wake_up import MAX_SLEEP_MS, WakeUp
from .settings import Setting, producer_settings
from .settings_typed_dict import Settings
from .transactions.transaction_manager import TransactionManager
from .transactions.transactional_producer import OpenBatches, TransactionMethods
from .transactions.transactions import Transactions

if TYPE_CHECKING:
    from prometheus_client.registry import CollectorRegistry

log = logging.getLogger("stepdown.producer")


class Producer(FastSend, TransactionMethods):
    """An asyncio producer. Start and end it with `async with`, or with `start` and `close`, in one event loop.

    Settings go by Kafka's names with `_` for `.`, or as they are in `configs`. `ssl_context` takes the place of the
    `ssl.*` settings. `token_provider` gives the token of OAUTHBEARER, or an awaitable of it, before each login.
    Raises: ConfigError with everything that is wrong with the settings.
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        *,
        key_serializer: Serializer | None = None,
        value_serializer: Serializer | None = None,
        interceptors: Sequence[ProducerInterceptor] = (),
        ssl_context: SSLContext | None = None,
        token_provider: TokenProvider | None = None,
        configs: Mapping[str, Setting] | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        given: dict[str, Setting] = {
            "bootstrap.servers": _join_servers(bootstrap_servers),
            **(configs or {}),
            **cast(dict[str, Setting], settings),
        }
        self.settings = producer_settings(given, ssl_context=ssl_context, token_provider=token_provider)
        self._key_serializer, self._value_serializer = key_serializer, value_serializer
        self._interceptors = tuple(interceptors)
        around = self._make_dependencies()
        self._clock, self._draws, self.ratios, self._make_link = around.clock, around.draws, around.ratios, around.link
        self.meters = ProducerMetrics(self._clock.now_ms)
        self._log = LimitedLog(self.settings.client_id, self._clock.now_ms)
        self._wakeup = WakeUp(self._clock, self._run_pass)
        self._started = self._closed = self._taking = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = AwaitedResult()
        self._most_bytes = min(self.settings.max_request_size, self.settings.buffer_memory)
        self._assemble()
        for warning in self.settings.warnings:
            log.warning("%s: %s", self.settings.client_id, warning)

    def _make_dependencies(self) -> Dependencies:
        return Dependencies()

    def _assemble(self) -> None:
        settings = self.settings
        backoff = Backoff(initial_ms=settings.retry_backoff_ms, max_ms=settings.retry_backoff_max_ms, draws=self._draws)
        self._call_source = self._make_call_source(backoff)
        self._memory = BufferMemory(settings.buffer_memory)
        self._metadata = Metadata(
            max_age_ms=settings.metadata_max_age_ms, max_idle_ms=settings.metadata_max_idle_ms, backoff=backoff
        )
        sequences = self._call_source.sequences if self._call_source is not None else None
        self._accumulator = Accumulator(settings, self._memory, self.ratios, sequences, self._draws)
        call_source = self._call_source
        told = (
            (call_source.add_partition, call_source.handle_failed_batch)
            if isinstance(call_source, TransactionManager)
            else (None, None)
        )
        wake, meters = self._wakeup.schedule_pass, self.meters
        self._appender = Appender(settings, self._metadata, self._accumulator, meters, self._log, wake, *told)
        self._fast_appends = {} if self._interceptors else self._appender.fast_appends
        self._results = ProduceResultHandler(
            settings, self._accumulator, self._metadata, meters, self._log, self._call_source
        )
        if isinstance(call_source, TransactionManager):
            call_source.batches = OpenBatches(self._accumulator, self._appender, self._results)
            self._transactions = Transactions(
                call_source, self._clock, settings.max_block_ms, self._wakeup.schedule_pass
            )
        self.meters.gauges.update(
            {
                "buffer-total-bytes": lambda: self._memory.total_bytes,
                "buffer-available-bytes": lambda: self._memory.available_bytes,
                "waiting-threads": lambda: self._memory.waiting,
                "bufferpool-wait-time-ns-total": lambda: self._memory.waited_ms * 1_000_000,
                "metadata-age": lambda: self._metadata.age_ms(self._clock.now_ms()) / 1000,
                "requests-in-flight": lambda: self._link.in_flight if self._started else 0,
            }
        )

    def _make_call_source(self, backoff: Backoff) -> CallSource | None:
        if self.settings.transactional_id is not None:
            return TransactionManager(self.settings, self._clock.now_ms)
        return ProducerIdCallSource(SequenceNumbers(), backoff.delay_ms) if self.settings.idempotent else None

    # --- life ---------------------------------------------------------------------------------------------------------

    async def start(self) -> Self:
        """Itself, running; it connects when there is something to send.

        Raises: WrongState when it was started or closed before.
        """
        if self._started or self._closed:
            raise WrongState("a producer is started once; make another one")
        self._link = self._make_link(self.settings, self._clock, self._wakeup.schedule_pass)
        self._sender = Sender(
            self.settings,
            self._metadata,
            self._accumulator,
            self._appender,
            self._results,
            self._link,
            self.meters,
            self._log,
            self._call_source,
            self._clock.now_ms,
            self._wakeup,
        )
        self._loop, self._thread = asyncio.get_running_loop(), get_ident()
        self._started = self._taking = True
        self._wakeup.start()
        return self

    async def close(self, timeout_ms: int | None = None) -> None:
        """Sends what is left and waits for its end; past `timeout_ms` the rest fails with ProducerClosed.

        Who closes it again waits for the same end.
        """
        if not self._started:
            self._closed = True
            return
        self._ensure_own_loop()
        timer = self._clock.call_later(timeout_ms, self._force_end) if timeout_ms else None
        try:
            if timeout_ms == 0:
                self._force_end()
            if not self._closed:
                await self._close()
            elif not self._ended.ended:
                await self._ended.wait(self._clock, MAX_SLEEP_MS, "close")
        finally:
            if timer is not None:
                timer.cancel()

    async def _close(self) -> None:
        self._closed = self._accumulator.closing = True
        self._taking = False
        self._fast_appends.clear()
        self._fast_appends = {}  # nobody opens another one
        self._wakeup.schedule_pass()
        try:
            await self._wait_for_batches(self._accumulator.last_number)
            if self._transactions is not None:
                await self._transactions.end_open_transaction()
        finally:
            self._force_end()
            self._wakeup.stop()
            self._link.close()
            self._ended.succeed()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(0 if kind is not None and issubclass(kind, asyncio.CancelledError) else None)

    def _run_pass(self, now_ms: int) -> int:
        return self._sender.run_once(now_ms)

    def _force_end(self) -> None:
        error = ProducerClosed("the producer was closed before the record was acknowledged")
        if isinstance(self._call_source, TransactionManager):
            self._call_source.enter_fatal_error(error)
        self._appender.refuse_all(error)
        in_flight = [batch for batches in self._results.in_flight.values() for batch in batches]
        for batch in (*in_flight, *self._accumulator.take_all()):
            self._results.fail(batch, error)

    # --- sending ------------------------------------------------------------------------------------------------------

    async def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        *,
        key: Any = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Headers = (),
        callback: Callback | None = None,
    ) -> RecordMetadata:
        """As `send`, and waits for the end of the record; first, where as many wait in line as may, for one to leave.

        Raises: what `send` raises, and the ProducerError that the record ended with.
        """
        await self._appender.wait_for_room(self._clock)
        sent = self.send(
            topic, value, key=key, partition=partition, timestamp=timestamp, headers=headers, callback=callback
        )
        return await sent

    async def partitions_for(self, topic: str) -> set[int]:
        """The partitions of a topic, those without a leader included.

        Raises: Timeout when the topic is not known after `max.block.ms`, BrokerError where it may not be looked up.
        """
        self._ensure_is_open()
        self._ensure_own_loop()
        ensure_valid(topic, None, None)
        topic = str.__str__(topic)
        return set(range((await self._appender.wait_for_metadata(topic, self._clock)).view.partitions))

    def _send_slowly(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        timestamp: int | None,
        headers: Headers,
        callback: Callback | None,
    ) -> Delivery:
        """What `send` does with a record whose topic has no short way."""
        self._ensure_is_open()
        self._ensure_own_thread()
        if callback is not None:
            ensure_callable(callback)
        if self._interceptors:
            record = ProducerRecord(topic, value, key=key, partition=partition, timestamp=timestamp, headers=headers)
            for interceptor in self._interceptors:
                record = self._intercept(interceptor, record)
            topic, value, key, headers = record.topic, record.value, record.key, record.headers
            partition, timestamp = record.partition, record.timestamp
            callback = make_callback_after_interceptors(self._interceptors, callback)
            ensure_valid(topic, partition, None if timestamp == NO_TIMESTAMP else timestamp)
        else:
            ensure_valid(topic, partition, timestamp)
        now_ms = self._clock.now_ms()
        headers = headers_of(headers) if headers else ()
        encoded = encode_headers(headers)
        key = self._serialize(self._key_serializer, topic, headers, key, "key")
        value = self._serialize(self._value_serializer, topic, headers, value, "value")
        stamped = now_ms if timestamp is None else timestamp
        return self._append_slowly(topic, key, value, partition, stamped, encoded, callback, now_ms)

    def _append_slowly(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        timestamp: int,
        headers: bytes,
        callback: Callback | None,
        now_ms: int,
    ) -> Delivery:
        """The delivery of a record that is in bytes, and goes the long way."""
        if type(topic) is not str:  # a member of an enum hashes by its name
            topic = str.__str__(topic)
        if self._loop is not None and self._loop.is_closed():
            raise WrongState("the event loop that the producer was started in is closed")
        key_size, value_size = -1 if key is None else len(key), -1 if value is None else len(value)
        bound = most_bytes(key_size, value_size, len(headers))
        delivery = Delivery(topic, timestamp, key_size, value_size, callback)
        error = self._call_source.refusal() if self._call_source is not None else None
        if error is None and bound > self._most_bytes:
            error = self._make_too_large_error(topic, bound)
        if error is not None:
            self._appender.refuse(delivery, partition, error)
        else:
            self._appender.append(PendingRecord(partition, key, value, headers, bound, delivery), now_ms)
        return delivery

    def _ensure_is_open(self) -> None:
        if not self._taking:
            raise ProducerClosed("the producer is closed" if self._closed else "the producer has not been started")

    def _ensure_own_thread(self) -> None:
        if get_ident() != self._thread:
            raise WrongState(
                "a producer is used from the thread that started it: others use its loop's call_soon_threadsafe, "
                "or asyncio.run_coroutine_threadsafe(producer.send_and_wait(…), loop)"
            )

    def _ensure_own_loop(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise WrongState("a producer is used in the event loop that it was started in")

    def _make_too_large_error(self, topic: str, bound: int) -> ProducerError:
        limits = {"max.request.size": self.settings.max_request_size, "buffer.memory": self.settings.buffer_memory}
        name, most = next((name, most) for name, most in limits.items() if bound > most)
        error = RecordTooLarge(f"a record for {topic} takes up to {bound} bytes, {name} is {most}")
        if isinstance(self._call_source, TransactionManager):
            self._call_source.handle_failed_batch(error)
        return error

    def _intercept(self, interceptor: ProducerInterceptor, record: ProducerRecord) -> ProducerRecord:
        """What the interceptor made of it; the record as it was when the interceptor failed."""
        try:
            made = interceptor.on_send(record)
            if not isinstance(made, ProducerRecord):
                raise TypeError(f"on_send gave {type(made).__name__}, not a ProducerRecord")
            return made
        except FOREIGN_FAULTS as fault:
            context = {"message": f"an interceptor failed on a record for {record.topic}", "exception": fault}
            asyncio.get_running_loop().call_exception_handler(context)
            return record

    def _serialize(
        self, serializer: Serializer | None, topic: str, headers: Sequence[Header], value: Any, part: str
    ) -> bytes | None:
        try:
            if serializer is not None:
                value = serializer(topic, value, headers)
            if value is None or type(value) is bytes:
                return value
            if isinstance(value, bytes | bytearray | memoryview):
                return bytes(value)
        except Exception as fault:
            self.meters.count("failed")
            raise Serialization(f"the {part} of a record for {topic} cannot be serialized: {fault}") from fault
        self.meters.count("failed")
        raise Serialization(f"the {part} of a record for {topic} is {type(value).__name__}, not bytes")

    # What the short way asks.
    _list_headers = staticmethod(headers_of)
    _ensure_valid = staticmethod(ensure_valid)
    _ensure_callable = staticmethod(ensure_callable)

    async def flush(self, timeout_ms: int | None = None) -> None:
        """Returns when everything sent before has ended; splits are followed. Nothing lingers meanwhile.

        Raises: Timeout after `timeout_ms`; what was sent stays on its way.
        """
        if not self._started:
            raise WrongState("the producer has not been started")
        self._ensure_own_loop()
        started = time.perf_counter_ns()
        self._accumulator.flushes += 1
        self._wakeup.schedule_pass()
        try:
            if timeout_ms is None:
                await self._wait_for_all()
            else:
                await self._wait_for_all_within(timeout_ms)
        finally:
            self._accumulator.flushes -= 1
            self.meters.elapsed_ns["flush"] += time.perf_counter_ns() - started

    async def _wait_for_all(self) -> None:
        for entry in self._appender.waiting_records:
            await entry.delivery.accepted()
        await self._wait_for_batches(self._accumulator.last_number)

    async def _wait_for_all_within(self, timeout_ms: int) -> None:
        result = AwaitedResult()
        task = asyncio.get_running_loop().create_task(self._wait_for_all())
        task.add_done_callback(lambda _: result.succeed())
        try:
            await result.wait(self._clock, timeout_ms, "flush")
        finally:
            task.cancel()

    async def _wait_for_batches(self, last_number: int) -> None:
        """Waits for the batches up to that number, and what became of them by splits."""
        while self._appender.waiting_records and self._closed:
            await self._appender.waiting_records[0].delivery.accepted()
            last_number = self._accumulator.last_number
        # Most batches end in their order, so few besides the newest have to be waited for.
        while (batch := self._accumulator.find_newest_live(last_number)) is not None:
            await batch.wait_for_end()

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
        """Adds both groups of metrics to a Prometheus registry, under Kafka's names as `prometheus.py` spells them."""
        # Imported here, since it takes as long as all the rest.
        from .metrics.prometheus import register

        register(self, registry)

    def metrics(self) -> dict[str, float]:
        """Kafka's group `producer-metrics`, by name."""
        return self.meters.snapshot()

    def topic_metrics(self) -> dict[str, dict[str, float]]:
        """Kafka's group `producer-topic-metrics`, by topic and name."""
        return self.meters.topic_snapshot()


def _join_servers(servers: str | Sequence[str]) -> str:
    if isinstance(servers, str):
        return servers
    if isinstance(servers, bytes) or not isinstance(servers, Sequence) or not all(isinstance(s, str) for s in servers):
        raise TypeError(f"bootstrap_servers is a str of host:port, or a sequence of such, found {servers!r}")
    return ",".join(servers)
