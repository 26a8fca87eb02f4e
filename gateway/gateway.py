"""One gateway: its parts, start and stop. Nothing here is global or on disk."""

import asyncio
import logging
import socket
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from ..client.errors import ClientError
from ..client.operations.acls import ask_for_acls
from ..client.versions import VersionRange
from ..config import HostPort
from ..config.keys.key import MAX_INT
from ..config.listener_security import ListenerSecurity
from ..network.admission.address_budget import AddressBudget
from ..network.admission.password_delays import PasswordDelays
from ..network.admission.shared_by_connections import RequestRules, SharedByConnections, make_unread_answers_budget
from ..network.answerer import Answerer, CloseConnection
from ..network.clients.client_report import ClientReport
from ..network.clock import Clock, LoopClock
from ..network.connection import Connection
from ..network.http.clients_page import ClientsPage, render_report
from ..network.http.metrics_page import MetricsPage
from ..network.http.server import HttpServer, Page
from ..network.listener import ConnectionLimits, Server, address_in_bind_errors, bind_without_name
from ..network.memory_budget import MemoryBudget
from ..network.metrics.instruments import FamilySnapshot
from ..network.page.page_access import PageAccess
from ..network.page.page_site import PageSite
from ..network.peer import Peer
from ..network.sasl.login_credential import LoginCredential
from ..network.transport import PlainTransport
from ..network.turn import Turn, Turns
from ..network.worker_threads import WorkerThreads
from ..protocol.acls import WILDCARD, AclFilter
from ..protocol.frame import FrameParser
from .addresses.broker_names import BrokerNames
from .addresses.broker_ports import BOOTSTRAP_LISTENER, BrokerPorts, broker_of_listener
from .addresses.broker_watch import BrokerWatch
from .addresses.one_address import SingleAddress
from .allow_list import AllowList, EndedEntriesWarnings
from .cluster_watch import ClusterWatch
from .gateway_metrics import GatewayMetrics
from .gateways_in_front import make_gateway_id
from .offered_versions import LOWERED, range_to_offer
from .page_views import PageViews
from .proxy_header_reader import ProxyHeaderReader
from .report_file import ReportFile
from .routes import newest_version
from .routes.locator import BrokerLocator
from .sessions.client_session import ClientSession
from .sessions.relayed_answer import RelayingSender
from .sessions.request_decoder import RequestDecoder
from .sessions.session_tools import SessionTools
from .setting_keys import LISTENER, OFF, PORTS, REQUIRED, SINGLE, SNI
from .settings import GatewaySettings
from .translations.held_answers import HeldAnswerMemory
from .upstream import BOOTSTRAP, Upstream
from .upstream_logins import UpstreamLogin, find_login

if TYPE_CHECKING:
    from ..network.admission.listener_admission import ListenerAdmission

WORKERS = 2
PATIENCE_MS = 2_000

T = TypeVar("T")
log = logging.getLogger(__name__)


class Gateway:
    """A gateway with these settings. `address` and `http_address` are known once it has started.

    `bind` returns the sockets of its listeners. Without `has_http` it has no pages of its own.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        clock: Clock | None = None,
        *,
        bind: Callable[[str, str, int], socket.socket] = bind_without_name,
        has_http: bool = True,
        gateway_id: str = "",
    ) -> None:
        """Raises: ConfigError for certificates that cannot be read."""
        self.settings = settings
        self.clock = clock or LoopClock()
        self.metrics = GatewayMetrics()
        self.address = self.http_address = HostPort("", 0)
        network = settings.network
        self.clients = ClientReport(
            network.stepdown_client_report_max_clients, self._time_of_request_ms, settings.cluster_for_commands
        )
        self._turns = Turns(self.clock.monotonic_s)
        self._workers = WorkerThreads(WORKERS, "gateway", self.clock)
        self._request_memory = MemoryBudget(
            network.stepdown_request_memory_bytes, clock=self.clock, patience_ms=PATIENCE_MS
        )
        unread = make_unread_answers_budget(self.clock, self._request_memory.limit_bytes)
        self._shared = SharedByConnections.of(
            self.clock, self._request_memory, unread, PATIENCE_MS, self._request_rules
        )
        self._answer_memory = AddressBudget(settings.answer_memory_bytes, clock=self.clock, patience_ms=PATIENCE_MS)
        self.upstream = Upstream(
            settings.bootstrap,
            settings.security,
            self.clock,
            self._open_port,
            gateway_id=gateway_id or make_gateway_id(),
            logs_clients_in=settings.swaps,
        )
        self._allowed = AllowList(settings.allowed, self.clock)
        at_accept = self._allowed if settings.proxy_protocol == OFF else AllowList((), self.clock)
        self._server = Server(
            self._connection_limits, self.clock, self._make_connection, self._count_closed_connection, at_accept, bind
        )
        self.ports = BrokerPorts(
            settings.listen.host,
            settings.advertised_host,
            settings.first_port,
            self._server.listen,
            self._server.stop_listening,
            self.upstream.learn_broker,
            self.clock,
        )
        self.cluster_watch = ClusterWatch(settings, self.upstream, self.ports, self.metrics, self.clock)
        self._broker_watch = BrokerWatch(
            self.ports, self.upstream.takes_connections, self.clock, self.metrics.upstream_failures
        )
        self._one_address = SingleAddress(self._address_to_advertise, self.upstream.learn_broker)
        self._names = BrokerNames(settings.broker_host, self._address_to_advertise, self.upstream.learn_broker)
        is_single = settings.addresses == SINGLE
        translate = {PORTS: self.ports.translate, SINGLE: self._one_address.translate, SNI: self._names.translate}
        self._tools = SessionTools(
            upstream=self.upstream,
            decoder=RequestDecoder(self._workers, network.stepdown_request_max_items),
            turns=self._turns,
            locator=BrokerLocator(self.upstream.run_operation, self.upstream.learn_brokers) if is_single else None,
            offer=self._offer_one_address if is_single else range_to_offer,
            metrics=self.metrics,
            clock=self.clock,
            min_bytes_a_second=network.stepdown_request_min_bytes_per_second,
            workers=self._workers,
            translate_address=translate[settings.addresses],
            clients=self.clients,
            zstd_to=settings.zstd_to,
            swaps=settings.swaps,
            suspect=self._suspect,
            lines=self._shared.lines,
        )
        self._admission: ListenerAdmission | None = None
        self._ended_entries_warnings = (
            EndedEntriesWarnings(settings.allowed, self.clock, self.metrics.instruments) if has_http else None
        )
        self._report = ReportFile(
            settings.report if has_http else "", self._render_client_report, self.clock, self._workers
        )
        self.views = self._make_views()
        self._http = self._make_http() if has_http else None
        self._connections: Counter[str] = Counter()
        self._acl_warning: asyncio.Task[None] | None = None
        self._is_stopping = False
        self.metrics.add_gauges(self._count_connections, self._answer_memory)

    async def start(self, known_fault: str = "") -> str:
        """Returns when clients are served: "" if the cluster was reached, else why it was not. With a `known_fault`,
        which another worker has found, it does not wait for the cluster.

        Raises: OSError when an address cannot be bound, DiskFault when keys or certificates cannot be used.
        """
        try:
            self._make_admission()
            settings = self.settings
            with address_in_bind_errors(settings.listen.host, settings.listen.port, "--listen"):
                host, port = self._server.listen(BOOTSTRAP_LISTENER, settings.listen.host, settings.listen.port)
            self.address = HostPort(host, port)
            for broker, address in settings.brokers.items():
                self.upstream.learn_broker(broker, address)
            if self._http is not None:
                with address_in_bind_errors(settings.http.host, settings.http.port, "--http"):
                    self.http_address = HostPort(*await self._http.start(settings.http.host, settings.http.port))
            fault = await self.cluster_watch.start(known_fault)
        except BaseException:
            await self.stop(drain_ms=0)
            raise
        self._report.start()
        if self._ended_entries_warnings is not None:
            self._ended_entries_warnings.start()
        if self._http is not None and not fault:
            self.start_warning_of_acls_by_host()
        return fault

    async def stop(self, drain_ms: int | None = None) -> None:
        """Closes the listeners, and answers requests in flight for `drain_ms`, by default `drain.timeout.ms`, at
        most."""
        self._is_stopping = True
        await self.cluster_watch.stop()
        if self._acl_warning is not None:
            self._acl_warning.cancel()
            await asyncio.gather(self._acl_warning, return_exceptions=True)
        await self._broker_watch.stop()
        await self._server.drain(self.settings.drain_ms if drain_ms is None else drain_ms)
        await self._report.stop()
        if self._ended_entries_warnings is not None:
            self._ended_entries_warnings.stop()
        self.upstream.close()
        if self._http is not None:
            await self._http.stop()
        self._workers.shutdown()

    @property
    def cluster_id(self) -> str | None:
        return self.upstream.cluster_id

    @property
    def release(self) -> str:
        return self.upstream.release_description

    def reload(self, settings: GatewaySettings) -> None:
        """Applies the allow list, the logins to the cluster and the drain timeout of new settings; connections stay
        open.

        Certificates for clients need no reload: changed files are noticed. Other settings apply at the next start.
        """
        self._allowed.networks = settings.allowed
        if self._ended_entries_warnings is not None:
            self._ended_entries_warnings.replace(settings.allowed)
        self.upstream.replace_login(settings.security.sasl)
        self.upstream.close_clients_of_logins()
        self.settings = replace(
            self.settings,
            allowed=settings.allowed,
            security=settings.security,
            logins=settings.logins,
            drain_ms=settings.drain_ms,
        )

    def run_in_worker(self, function: Callable[[], T]) -> Awaitable[T]:
        """Runs a function in a worker thread."""
        return self._workers.run(function)

    async def take_snapshot_of_metrics(self) -> list[FamilySnapshot]:
        """Reads the current values of the metrics."""
        return await self.metrics.instruments.take_snapshot(self._turns.begin())

    def start_warning_of_acls_by_host(self) -> None:
        """Starts to look for ACLs of the cluster that name hosts; a line in the log warns of them."""
        self._acl_warning = asyncio.create_task(self._warn_of_acls_by_host())

    async def _warn_of_acls_by_host(self) -> None:
        """Warns of ACLs that name hosts: the cluster sees the gateway's host in place of the client's."""
        try:
            found = await self.upstream.run_operation(ask_for_acls(AclFilter()))
        except ClientError:
            return  # there are none, or the gateway may not see them
        named = [acl for resource in found.resources for acl in resource.acls if acl.host != WILDCARD]
        if named:
            log.warning(
                "ACLs of the cluster that name hosts: %d, such as %s from %s; clients that come through the gateway "
                "have its address there",
                *(len(named), named[0].principal, named[0].host),
            )

    async def _render_client_report(self) -> bytes:
        return await self.run_in_worker(partial(render_report, self.clients.make_document_maker()))

    # Starting

    def _make_admission(self) -> None:
        """Raises: DiskFault."""
        security = self.settings.network.listener_security[LISTENER]
        if security == ListenerSecurity():
            return
        from ..network.admission.listener_admission import SharedByListenerAdmissions

        shared = SharedByListenerAdmissions(
            self.metrics.failed_authentications,
            lambda name, version: self.metrics.meter_of(36, version, version),
            self.clock,
            self.settings.network.stepdown_authentication_timeout_ms,
            find_no_credential,
            self._shared.lines,
        )
        self._admission = shared.make_admission(LISTENER, lambda: security)

    def _open_port(self, broker: int) -> None:
        if not self._is_stopping and self.settings.addresses == PORTS:
            self.ports.try_open(broker)

    def _suspect(self, broker: int) -> None:
        if not self._is_stopping:
            self._broker_watch.suspect(broker)

    # Serving

    def _address_to_advertise(self) -> HostPort:
        """The address by which clients reach the bootstrap port."""
        return HostPort(self.settings.advertised_host, self.settings.advertised_port or self.address.port)

    def _offer_one_address(self, key: int, taken: VersionRange) -> VersionRange:
        low, high = range_to_offer(key, taken)
        return low, min(high, newest_version(key), LOWERED.get(key, high))

    def _make_connection(self, sock: socket.socket, peer: Peer) -> tuple[Connection, Answerer]:
        loop, network = asyncio.get_running_loop(), self.settings.network
        wire = PlainTransport(sock, loop) if self._admission is None else self._admission.make_transport(sock, loop)
        peer.turn = Turn(self._turns)
        sender = RelayingSender(wire, self.metrics)
        parser = FrameParser(network.socket_request_max_bytes)
        connection = Connection(wire, peer, parser, sender, self._shared)
        session = ClientSession(
            self._tools,
            partial(self._broker_of, peer),
            partial(self._login_of, peer),
            lambda: HeldAnswerMemory(self._answer_memory, peer.network),
            connection.close,
            connection.let_pass,
            (network.stepdown_request_max_bytes, network.socket_request_max_bytes),
        )
        answerer: Answerer = session
        if self._admission is not None:
            answerer = self._admission.admit(connection, wire, session)
        if self.settings.proxy_protocol != OFF:
            connection.first = partial(self._read_proxy_header, sock, wire, peer, connection.first)
        self._connections[peer.listener] += 1
        connection.at_end = partial(self._on_session_end, session, peer, connection.at_end)
        return connection, answerer

    def _broker_of(self, peer: Peer) -> int:
        """The broker that a client has connected to, or BOOTSTRAP."""
        broker = broker_of_listener(peer.listener)
        if broker is None and self.settings.addresses == SNI:
            broker = self._names.broker_of(peer.server_name)
        return BOOTSTRAP if broker is None else broker

    def _login_of(self, peer: Peer) -> UpstreamLogin | None:
        """The login from `logins` for a client; None: the gateway's own, or the client's."""
        return find_login(self.settings.logins, str(peer.principal), peer.host) if self.settings.logins else None

    async def _read_proxy_header(
        self, sock: socket.socket, wire: PlainTransport, peer: Peer, then: Callable[[], Awaitable[None]] | None
    ) -> None:
        """Raises: CloseConnection, MalformedFrame, OSError."""
        reader = ProxyHeaderReader(sock, wire)
        if await reader.starts_with_header():
            address = await reader.read()
            if address is not None:
                peer.host, peer.port = address
        elif self.settings.proxy_protocol == REQUIRED:
            raise CloseConnection("it has no PROXY header; see proxy.protocol in the settings")
        if self._allowed.refusal_delay_ms(peer.host):
            raise CloseConnection("its address may not connect")
        if then is not None:
            await then()

    def _on_session_end(self, session: ClientSession, peer: Peer, before: Callable[[], None] | None) -> None:
        self._connections[peer.listener] -= 1
        session.close()
        if before is not None:
            before()

    def _request_rules(self) -> RequestRules:
        network = self.settings.network
        return RequestRules(
            min_bytes_a_second=network.stepdown_request_min_bytes_per_second,
            max_bytes_without_records=network.stepdown_request_max_bytes,
        )

    def _connection_limits(self) -> ConnectionLimits:
        network = self.settings.network
        return ConnectionLimits(
            connections=network.max_connections,
            at_listener=defaultdict(lambda: MAX_INT),
            per_ip=network.max_connections_per_ip,
            per_host=dict(network.max_connections_per_ip_overrides),
            silent=network.stepdown_max_connections_before_request,
            idle_ms=network.connections_max_idle_ms,
            backlog=network.socket_listen_backlog_size,
            send_buffer_bytes=network.socket_send_buffer_bytes,
            receive_buffer_bytes=network.socket_receive_buffer_bytes,
        )

    def _time_of_request_ms(self, request_s: float) -> int:
        """The time of day of a request that came at `request_s` of `perf_counter`."""
        return self.clock.now_ms() - round((perf_counter() - request_s) * 1000)

    def _count_closed_connection(self, reason: str) -> None:
        self.metrics.closed_connections.of(reason).add()

    def _count_connections(self) -> Iterable[tuple[tuple[str, ...], float]]:
        return [((name,), float(count)) for name, count in self._connections.items()]

    # Pages

    def _make_http(self) -> HttpServer:
        """The HTTP server, with the page for people if the settings enable it."""
        access = self._make_page_access()
        return HttpServer(
            {"/metrics": self._make_metrics_page(), "/healthz": health_page, "/readyz": self.readiness_page},
            {"/clients": ClientsPage(self.clients, lambda work, value: self._workers.run(lambda: work(value)))},
            access,
            fallback=PageSite(self.views.views_by_name, access)
            if self.settings.network.stepdown_page_enabled
            else None,
        )

    def _make_page_access(self) -> PageAccess:
        network = self.settings.network
        delay_ms = network.connection_failed_authentication_delay_ms
        delays = PasswordDelays(self.clock, delay_ms, self.metrics.failed_authentications, self._shared.lines)
        return PageAccess(network.stepdown_page_password or "", delays)

    def _make_views(self) -> PageViews:
        return PageViews(
            clock=self.clock,
            turns=self._turns,
            clients=self.clients,
            metrics=self.metrics,
            upstream=self.upstream,
            ports=self.ports,
            answer_memory=self._answer_memory,
            find_address=lambda: self.address,
            count_connections=lambda: sum(self._connections.values()),
            ready=self.readiness_page,
            find_cluster_fault=self.cluster_watch.find_fault,
            work=self._workers.run,
            started_ms=self.clock.now_ms(),
        )

    def _make_metrics_page(self) -> MetricsPage:
        return MetricsPage(self.metrics.instruments, self._turns, self._workers.run)

    async def readiness_page(self) -> Page:
        """/readyz"""
        reason = "shutting down" if self._is_stopping else self.cluster_watch.find_fault() or self.find_port_fault()
        return unready_page(reason) if reason else Page(body=b"ready\n")

    def find_port_fault(self) -> str:
        """Why some broker has no port for clients, "" if all have one."""
        faults = self.ports.faults
        others = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        return f"{next(iter(faults.values()))}{others}" if faults else ""


def find_no_credential(user: str, mechanism: str) -> LoginCredential:
    """Never called: the settings allow only mechanisms without stored credentials."""
    raise AssertionError(mechanism)


async def health_page() -> Page:
    """/healthz"""
    return Page(body=b"alive\n")


def unready_page(reason: str) -> Page:
    """/readyz of a gateway that should get no connections now."""
    return Page(body=f"not ready: {reason}\n".encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)
