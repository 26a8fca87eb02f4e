"""`running()` and `running_async()`: brokers in this process for the time of a block."""

import asyncio
from types import TracebackType
from typing import Unpack

from .async_kafka import AsyncKafka
from .kafka import Kafka
from .loop_thread import LoopThread, run_in
from .own_brokers import BrokerOptions, OwnBrokers, check_option_names


def running(**options: Unpack[BrokerOptions]) -> "Running":
    """Brokers on free ports of 127.0.0.1, for `with` and `async with`; they and their files go at the end.

    They run in a thread, so that nothing in a test keeps them from answering. Several `brokers` are a cluster with
    real replicas; topics have up to three. `racks` are those of the brokers in order, or in turn where they are fewer.
    `data` is a log directory to begin with, of brokers that have stopped: it is not changed. `config` has settings by
    Kafka's names, `topics` the number of partitions of each topic to begin with. `seed` (0) draws for faults with a
    probability, and where replicas go; what is armed is removed when the block ends.

    `security` is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, with certificates that are made, and `users` (name to
    password; else one, alice) who have a certificate each, or log in by PLAIN or SCRAM: `Kafka.clients` tells clients.
    `act_as` is the release of Kafka whose versions, refusals and defaults clients meet, such as 4.4 (docs/act-as.md).
    With `http` there is a page to look at the brokers, at `Kafka.page`.
    Raises: ConfigError, and OSError or DiskFault when it cannot start, from entering.
    """
    return Running(**options)


def running_async(**options: Unpack[BrokerOptions]) -> "RunningAsync":
    """The same in the event loop of the test, for `async with`: there is no thread, and hooks run in the test's loop.

    What blocks the loop, as `flush` of confluent-kafka does, keeps the brokers from answering: `async with running()`
    is for that.
    """
    return RunningAsync(**options)


class Running:
    """Brokers in a thread of their own."""

    def __init__(self, **options: Unpack[BrokerOptions]) -> None:
        """Raises: ValueError for a wrong option, such as a missing folder; TypeError for an unknown one."""
        check_option_names(options)
        self._own = OwnBrokers(**options)
        self._thread: LoopThread | None = None

    def __enter__(self) -> Kafka:
        self._thread = LoopThread()
        try:
            return Kafka(self._thread.run(self._own.begin()), self._thread)
        except BaseException:
            self._thread.stop()
            raise

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        assert self._thread is not None
        try:
            self._thread.run(self._own.end())
        finally:
            self._thread.stop()

    async def __aenter__(self) -> AsyncKafka:
        self._thread = LoopThread()
        try:
            return await run_in(self._thread.loop, self._own.begin())
        except BaseException:
            await asyncio.to_thread(self._thread.stop)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._thread is not None
        try:
            await run_in(self._thread.loop, self._own.end())
        finally:
            await asyncio.to_thread(self._thread.stop)

    @property
    def bootstrap(self) -> str:
        """The addresses for clients."""
        return self._own.kafka.bootstrap

    @property
    def control_address(self) -> str:
        """HOST:PORT of the control port, "" where the setting `stepdown.control.listen` asks for none."""
        return self._own.control_address


class RunningAsync:
    """Brokers in the running event loop."""

    def __init__(self, **options: Unpack[BrokerOptions]) -> None:
        """Raises: ValueError for a wrong option, such as a missing folder; TypeError for an unknown one."""
        check_option_names(options)
        self._own = OwnBrokers(**options)

    async def __aenter__(self) -> AsyncKafka:
        return await self._own.begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._own.end()
