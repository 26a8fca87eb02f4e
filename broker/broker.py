"""One broker: what it owns, how it starts, how it stops.

Start: lock and load the log directories, build the metadata image, listen, begin the periodic work. Stop: take no new
connections, finish what is in flight within `stepdown.shutdown.grace.ms`, flush, write the clean-shutdown mark.
Nothing here is global: several brokers may live in one process.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ..config import BrokerSettings, HostPort, Layers
from ..protocol.errors import ApiError, ErrorCode
from ..protocol.frame import FrameParser
from ..protocol.records.layout import Codec
from ..storage.directories.log_dirs import LogDirs
from ..storage.files.files import Files
from .fetch.session import FetchSessions
from .handlers import SERVED
from .http.pages import pages_of
from .http.server import HttpServer
from .maintenance.log_cleaner import Cleaner
from .maintenance.log_maintenance import Upkeep
from .metadata.image import BrokerNode, Cluster, Endpoint
from .metadata.partition import Partition
from .metadata.topic_rules import OFFSETS_TOPIC, TRANSACTION_TOPIC
from .metadata.topics import Topics
from .metrics.broker_gauges import show_state
from .metrics.loop_delay import LoopDelay
from .metrics.metrics import Metrics
from .network.buffer_pool import BufferPool
from .network.connection import Connection, Peer
from .network.dispatch import Dispatcher
from .network.interceptor import Interceptor
from .network.listener import Limits, Server
from .network.memory_budget import MemoryBudget
from .network.sender import Sender
from .network.transport import PlainWire
from .produce.append import RulesByTopic
from .scheduling.clock import Clock, LoopClock
from .scheduling.purgatory import Purgatory
from .scheduling.worker_threads import in_worker

if TYPE_CHECKING:
    from .groups.coordinator import GroupCoordinator
    from .transactions.coordinator import TransactionCoordinator

P = ParamSpec("P")
R = TypeVar("R")

SLOW_REQUEST_MS = 10_000
"""How long a large request may take to come while others wait for its memory."""
DEFAULT_NODE_ID = 1
MOST_WORKERS = 4
LONG_FETCHES_AT_ONCE = 4
CONVERSION_BUFFERS_SHARE = 2
"""One part in so many of the conversion memory can be claimed for buffers. The rest is for what nobody claims: the
promised slices of waiting partitions (350 bytes each), the codecs' own state, what malloc keeps of freed blocks."""


class Broker:
    """A broker over the log directories that its settings name.

    `address` and `http_address` are known once it has started.
    """

    def __init__(
        self, settings: BrokerSettings, layers: Layers, *, clock: Clock | None = None, files: Files | None = None
    ) -> None:
        self.settings = settings
        self.clock: Clock = clock or LoopClock()
        self.metrics = Metrics()
        self.interceptors: list[Interceptor] = []
        self.sessions = FetchSessions(
            settings.max_incremental_fetch_session_cache_slots, self.metrics.session_evictions.add
        )
        self.fetch_purgatory = Purgatory(self.clock)
        self.produce_purgatory = Purgatory(self.clock)
        self.long_fetches = asyncio.Semaphore(LONG_FETCHES_AT_ONCE)
        self.append_rules = RulesByTopic(settings.stepdown_decompression_max_bytes)
        self.conversion_budget = MemoryBudget(
            settings.stepdown_conversion_memory_bytes // CONVERSION_BUFFERS_SHARE,
            self.metrics.conversion_wait.observe,
            clock=self.clock,
        )
        pool = settings.queued_max_request_bytes
        self.request_memory = MemoryBudget(
            pool if pool > 0 else settings.stepdown_request_memory_bytes,
            self.metrics.request_memory_wait.add,
            clock=self.clock,
            patience_ms=SLOW_REQUEST_MS,
        )
        self.workers = ThreadPoolExecutor(min(MOST_WORKERS, os.cpu_count() or 1), thread_name_prefix="codec")
        self.log_dirs = LogDirs.open_all(settings, files or Files(), self.clock)
        node_id = self.log_dirs.node_id
        self.cluster = Cluster(
            cluster_id=self.log_dirs.cluster_id, node_id=DEFAULT_NODE_ID if node_id is None else node_id
        )
        self.topics = Topics(self, layers)
        self.topics.on_deleted.append(self.metrics.forget_topics)
        self._groups: GroupCoordinator | None = None
        self._is_stopping = False
        self._transactions: TransactionCoordinator | None = None
        self.addresses: dict[str, HostPort] = {}
        self.http_address: HostPort | None = None
        self.is_ready = False
        self._buffers = BufferPool()
        self._server = Server(self._limits, self.clock, Dispatcher(self, SERVED), self._connect, self._on_closed)
        self._http = HttpServer(pages_of(self))
        self._upkeep = Upkeep(self)
        self._loop_delay = LoopDelay(self.clock, self.metrics.loop_delay)
        self.cleaner = Cleaner(self)
        show_state(self)

    @property
    def address(self) -> HostPort:
        """Where the first listener was bound."""
        return next(iter(self.addresses.values()))

    @property
    def groups(self) -> "GroupCoordinator":
        """The group coordinator. It begins, and its modules are loaded, when there are offsets or the first group.

        Raises: ApiError COORDINATOR_NOT_AVAILABLE when that is too late.
        """
        if self._groups is None:
            if self._is_stopping:
                raise ApiError("the broker stops", ErrorCode.COORDINATOR_NOT_AVAILABLE)
            from .groups.coordinator import GroupCoordinator

            self._groups = GroupCoordinator(self)
            self._groups.start()
        return self._groups

    @property
    def groups_in_use(self) -> "GroupCoordinator | None":
        """The group coordinator if it has begun."""
        return self._groups

    @property
    def transactions(self) -> "TransactionCoordinator":
        """The transaction coordinator, which begins as the group coordinator does.

        Raises: ApiError COORDINATOR_NOT_AVAILABLE when that is too late.
        """
        if self._transactions is None:
            if self._is_stopping:
                raise ApiError("the broker stops", ErrorCode.COORDINATOR_NOT_AVAILABLE)
            from .transactions.coordinator import TransactionCoordinator

            self._transactions = TransactionCoordinator(self)
            self._transactions.start()
        return self._transactions

    @property
    def transactions_in_use(self) -> "TransactionCoordinator | None":
        """The transaction coordinator if it has begun."""
        return self._transactions

    @property
    def connections(self) -> int:
        return self._server.connections

    @property
    def zstd_to(self) -> Codec | None:
        """What zstd becomes for clients that cannot read it; None: they are refused."""
        name = self.settings.stepdown_downconversion_zstd
        return None if name == "error" else Codec[name.upper()]

    async def start(self) -> None:
        """Returns when clients are served.

        Raises: OSError when an address cannot be bound; the logs have been closed again then, and marked clean.
        """
        self.topics.load()
        try:
            await self._listen()
        except OSError:
            await self.stop()
            raise
        self._upkeep.start()
        self._loop_delay.start()
        self.cleaner.start()
        self.is_ready = True
        if OFFSETS_TOPIC in self.cluster.topics:
            asyncio.get_running_loop().call_soon(lambda: self.groups)
        if TRANSACTION_TOPIC in self.cluster.topics:
            asyncio.get_running_loop().call_soon(lambda: self.transactions)

    async def _listen(self) -> None:
        for listener in self.settings.listeners:
            with _naming_address(listener.host, listener.port):
                host, port = self._server.listen(listener.listener_name, listener.host, listener.port)
            self.addresses[listener.listener_name] = HostPort(host, port)
        self.cluster.brokers[self.cluster.node_id] = self._as_node()
        wanted = self.settings.stepdown_http_listen
        with _naming_address(wanted.host, wanted.port):
            self.http_address = HostPort(*await self._http.start(wanted.host, wanted.port))

    async def stop(self) -> None:
        """Returns when everything acknowledged is on disk and the clean-shutdown mark is written."""
        self.is_ready = False
        self._is_stopping = True
        self._server.stop_accepting()
        self.fetch_purgatory.close()
        self.produce_purgatory.close()
        if self._transactions is not None:
            await self._transactions.stop()
        if self._groups is not None:
            await self._groups.stop()
        await self._server.drain(self.settings.stepdown_shutdown_grace_ms)
        await self.topics.stop()
        await self.cleaner.stop()
        await self._upkeep.stop()
        self._loop_delay.stop()
        await self._http.stop()
        self.workers.shutdown()
        self.log_dirs.shutdown()

    async def heavy(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """`work(...)` in a worker thread: for what takes a codec, or the disk, longer than the loop may stand still."""
        return await in_worker(self.workers, lambda: work(*args, **kwargs))

    async def breathe(self) -> None:
        """Lets others have the loop."""
        await asyncio.sleep(0)

    def appended(self, partition: Partition) -> None:
        """Tells those who wait that a partition has grown, or its high watermark has moved."""
        key = partition.key
        self.fetch_purgatory.notify(key)
        self.produce_purgatory.notify(key)

    def _connect(self, wire: PlainWire, peer: Peer) -> Connection:
        parser = FrameParser(self.settings.socket_request_max_bytes)
        sender = Sender(wire, self.conversion_budget, self._buffers, self.workers, self.metrics)
        return Connection(wire, peer, parser, sender, self.clock, self.request_memory)

    def _limits(self) -> Limits:
        return _limits(self.settings)

    def _on_closed(self, reason: str) -> None:
        self.metrics.closed_connections.of(reason).add()

    def _as_node(self) -> BrokerNode:
        """This broker as clients are told: what is advertised, with the real port where a free one was asked for."""
        endpoints = {}
        for listener in self.settings.advertised_listeners:
            bound = self.addresses.get(listener.listener_name)
            port = listener.port or (bound.port if bound is not None else 0)
            host = listener.host or (
                bound.host if bound is not None and bound.host not in ("0.0.0.0", "::") else "localhost"
            )
            endpoints[listener.listener_name] = Endpoint(host=host, port=port)
        return BrokerNode(node_id=self.cluster.node_id, rack=self.settings.broker_rack, endpoints=endpoints)


@contextmanager
def _naming_address(host: str, port: int) -> Iterator[None]:
    """Says which address it was that cannot be bound."""
    try:
        yield
    except OSError as error:
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise OSError(f"cannot listen on {host}:{port}: {reason}") from error


def _limits(settings: BrokerSettings) -> Limits:
    return Limits(
        connections=settings.max_connections,
        per_ip=settings.max_connections_per_ip,
        per_host=dict(settings.max_connections_per_ip_overrides),
        idle_ms=settings.connections_max_idle_ms,
        backlog=settings.socket_listen_backlog_size,
        send_buffer_bytes=settings.socket_send_buffer_bytes,
        receive_buffer_bytes=settings.socket_receive_buffer_bytes,
    )
