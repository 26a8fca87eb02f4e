"""One broker: what it owns, how it starts, how it stops.

Start: lock and load the log directories, build the metadata image, listen, begin the periodic work. Stop: take no new
connections, finish what is in flight within `stepdown.shutdown.grace.ms`, flush, write the clean-shutdown mark.
Nothing here is global: several brokers may live in one process.
"""

import asyncio
import socket
from functools import partial
from typing import TYPE_CHECKING

from ..config import BrokerSettings, HostPort, Layers
from ..config.listener_security import ListenerSecurity
from ..network.admission.shared_by_connections import RequestRules, SharedByConnections
from ..network.answerer import Answerer
from ..network.clock import Clock, LoopClock
from ..network.connection import Connection
from ..network.http.server import HttpServer
from ..network.listener import ConnectionLimits, Server, address_in_bind_errors
from ..network.log_line_limit import LogLineLimit
from ..network.loop_watch import LoopWatch
from ..network.peer import Peer
from ..network.sender import Sender
from ..network.transport import PlainTransport
from ..network.turn import Turn
from ..protocol.frame import FrameParser
from ..storage.files.files import Files
from .core import SLOW_REQUEST_MS
from .dispatch.dispatcher import Dispatcher
from .handlers import SERVED
from .http.pages import page_access_of, page_site_of, pages_of, private_pages_of
from .maintenance.log_cleaner import Cleaner
from .metadata.image import BrokerNode, Endpoint
from .metadata.topic_rules import OFFSETS_TOPIC, TRANSACTION_TOPIC
from .metadata.topics import Topics
from .metadata.unknown_settings import warn_of_unadopted_topics
from .metrics.broker_gauges import register_gauges
from .metrics.loop_delay import LoopDelay
from .metrics.request_metrics import RequestMeter
from .page.broker_state import BrokerState
from .quotas.connection_rates import ConnectionRates
from .services import MakeTopics, Services

if TYPE_CHECKING:
    from ..network.admission.listener_admission import ListenerAdmission


class Broker(Services):
    """A broker over the log directories that its settings name.

    `address` and `http_address` are known once it has started.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        layers: Layers,
        *,
        clock: Clock | None = None,
        files: Files | None = None,
        make_topics: MakeTopics = Topics,
    ) -> None:
        """`make_topics` makes the part that changes topics; in a cluster that part asks the controller."""
        super().__init__(settings, layers, clock, files, make_topics)
        with self.abandon_on_failure():
            self._make_components()

    def _make_components(self) -> None:
        self.addresses: dict[str, HostPort] = {}
        self.http_address: HostPort | None = None
        self.is_ready = False
        self._dispatcher = self._make_dispatcher()
        self._admissions: dict[str, ListenerAdmission] = {}
        self._rates = ConnectionRates(
            self.quotas,
            lambda: self.settings.max_connection_creation_rate,
            lambda listener: self.settings.listener_max_connection_creation_rate[listener],
        )
        self._shared = SharedByConnections.of(
            self.clock,
            self.request_memory,
            self.unread_answers,
            SLOW_REQUEST_MS,
            self._request_rules,
            lambda line: self.on_refusal(line),
        )
        self._server = Server(
            self._connection_limits, self.clock, self._make_connection, self._count_close, self._rates
        )
        state = BrokerState(self, lambda: self.connections, lambda: self.is_ready)
        access = page_access_of(self, self._shared.lines)
        pages = pages_of(self, lambda: self.is_ready)
        self._http = HttpServer(pages, private_pages_of(self), access, fallback=page_site_of(state, access))
        self._loop_watch = LoopWatch(
            self.metrics.loop_held, self.loop_holds, self._server.peer_of, LogLineLimit(self.clock), self.clock.now_ms
        )
        self._loop_delay = LoopDelay(LoopClock(forgives=False), self.metrics.loop_delay, self._loop_watch.on_timer)
        self.cleaner = Cleaner(self, self.topics)
        register_gauges(self, lambda: self.connections, lambda: self._groups, lambda: self._transactions, self.cleaner)

    def _make_dispatcher(self) -> Dispatcher:
        release = self.settings.stepdown_act_as
        if release is None:
            return Dispatcher(self, SERVED)
        from .dispatch.acting_dispatcher import ActingDispatcher

        return ActingDispatcher(self, SERVED, release)

    def open_in_process_socket(self) -> socket.socket:
        """Returns the client's end of a new connection inside this process; sent bytes arrive at once."""
        ours, theirs = socket.socketpair()
        self._server.add_connection(theirs, Peer(host="127.0.0.1", port=0, listener=next(iter(self.addresses))))
        return ours

    @property
    def address(self) -> HostPort:
        """The address that the first listener is bound to."""
        return next(iter(self.addresses.values()))

    @property
    def connections(self) -> int:
        return self._server.connection_count

    async def start(self) -> None:
        """Returns when clients are served.

        Raises: OSError when an address cannot be bound, DiskFault when keys or certificates of a listener cannot be
        used. Before it raises, it closes the logs and marks them clean.
        """
        with self.abandon_on_failure():
            self.topics.load()
        warn_of_unadopted_topics(self.cluster.topics.values())
        try:
            await self._listen()
            self.cleaner.start()
        except BaseException:
            await self.stop()
            raise
        self.maintenance.start()
        self.is_ready = True
        if OFFSETS_TOPIC in self.cluster.topics:
            asyncio.get_running_loop().call_soon(lambda: self.groups)
        if TRANSACTION_TOPIC in self.cluster.topics:
            asyncio.get_running_loop().call_soon(lambda: self.transactions)
        asyncio.get_running_loop().call_soon(self._start_loop_watch)

    def _start_loop_watch(self) -> None:
        """Runs after the start: what holds the loop before that delays no client."""
        if self.is_ready:
            self._loop_watch.start()
            self._loop_delay.start()

    async def _listen(self) -> None:
        self._secure_listeners()
        for listener in self.settings.listeners:
            with address_in_bind_errors(listener.host, listener.port):
                host, port = self._server.listen(listener.listener_name, listener.host, listener.port)
            self.addresses[listener.listener_name] = HostPort(host, port)
        self.cluster.brokers[self.cluster.node_id] = self._as_broker_node()
        wanted = self.settings.stepdown_http_listen
        with address_in_bind_errors(wanted.host, wanted.port):
            self.http_address = HostPort(*await self._http.start(wanted.host, wanted.port))

    async def stop(self) -> None:
        """Returns when everything acknowledged is on disk and the clean-shutdown mark is written."""
        self._server.stop_accepting()
        await self._end_work(self.settings.stepdown_shutdown_grace_ms)
        await self.maintenance.stop()
        await self._stop_measures_and_http()
        self.topics.store.close()
        await self.run_in_worker(self.log_manager.shutdown)  # other brokers may share the loop
        self.workers.shutdown()

    async def kill(self) -> None:
        """Ends at once, as a process that is killed does: connections are reset, nothing is flushed or checkpointed."""
        self._server.abort()
        await self._end_work(0)
        await self.maintenance.abandon()
        await self._stop_measures_and_http()
        self.workers.shutdown()
        self.log_manager.abandon()

    async def _end_work(self, grace_ms: int) -> None:
        """Begins nothing new, and gives requests in flight `grace_ms` to end."""
        self.is_ready = False
        self._is_stopping = True
        self.fetch_purgatory.close()
        self.produce_purgatory.close()
        if self._transactions is not None:
            await self._transactions.stop()
        if self._groups is not None:
            await self._groups.stop()
        await self._server.drain(grace_ms)
        await self.topics.stop()
        await self.cleaner.stop()

    async def _stop_measures_and_http(self) -> None:
        self._loop_delay.stop()
        self._loop_watch.stop()
        await self._http.stop()

    def _secure_listeners(self) -> None:
        """Makes the admissions of listeners with TLS or SASL; imports their module only if there is one."""
        secured = [name for name, security in self.settings.listener_security.items() if security != ListenerSecurity()]
        if not secured:
            return
        from ..network.admission.listener_admission import SharedByListenerAdmissions

        shared = SharedByListenerAdmissions(
            self.metrics.failed_authentications,
            partial(RequestMeter, self.metrics),
            self.clock,
            self.settings.stepdown_authentication_timeout_ms,
            self.scram_credentials.find_for_login,
            self._shared.lines,
        )
        for name in secured:
            self._admissions[name] = shared.make_admission(name, partial(self._security_of, name))

    def _security_of(self, listener: str) -> ListenerSecurity:
        return self.topics.configuration.settings.listener_security[listener]

    def _make_connection(self, sock: socket.socket, peer: Peer) -> tuple[Connection, Answerer]:
        loop = asyncio.get_running_loop()
        admission = self._admissions.get(peer.listener)
        wire = PlainTransport(sock, loop) if admission is None else admission.make_transport(sock, loop)
        parser = FrameParser(self.settings.socket_request_max_bytes)
        peer.turn = Turn(self.turns, self.long_requests, peer.network)
        sender = Sender(wire, self.metrics)
        connection = Connection(wire, peer, parser, sender, self._shared)
        if admission is None:
            return connection, self._dispatcher
        return connection, admission.admit(connection, wire, self._dispatcher)

    def _request_rules(self) -> RequestRules:
        return RequestRules(
            min_bytes_a_second=self.settings.stepdown_request_min_bytes_per_second,
            max_bytes_without_records=self.settings.stepdown_request_max_bytes,
        )

    def _connection_limits(self) -> ConnectionLimits:
        return _connection_limits(self.settings)

    def _count_close(self, reason: str) -> None:
        self.metrics.closed_connections.of(reason).add()

    def _as_broker_node(self) -> BrokerNode:
        """This broker as clients see it: the advertised addresses, with the bound port in place of port 0."""
        endpoints = {}
        for listener in self.settings.advertised_listeners:
            bound = self.addresses.get(listener.listener_name)
            port = listener.port or (bound.port if bound is not None else 0)
            host = listener.host or (
                bound.host if bound is not None and bound.host not in ("0.0.0.0", "::") else "localhost"
            )
            endpoints[listener.listener_name] = Endpoint(host=host, port=port)
        return BrokerNode(node_id=self.cluster.node_id, rack=self.settings.broker_rack, endpoints=endpoints)


def _connection_limits(settings: BrokerSettings) -> ConnectionLimits:
    return ConnectionLimits(
        connections=settings.max_connections,
        at_listener=settings.listener_max_connections,
        per_ip=settings.max_connections_per_ip,
        per_host=dict(settings.max_connections_per_ip_overrides),
        silent=settings.stepdown_max_connections_before_request,
        idle_ms=settings.connections_max_idle_ms,
        backlog=settings.socket_listen_backlog_size,
        send_buffer_bytes=settings.socket_send_buffer_bytes,
        receive_buffer_bytes=settings.socket_receive_buffer_bytes,
    )
