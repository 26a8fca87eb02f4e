"""The cluster behind the gateway: which brokers it has, which versions they offer, and connections to them."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any, TypeVar

from ..client.async_client import LOGIN_USE, AsyncClient
from ..client.async_connection import AsyncConnection
from ..client.bootstrap_servers import BootstrapServers
from ..client.connection_faults import translate_connect_faults, translate_request_faults
from ..client.errors import AuthenticationFailed, ClientError, ConnectionBroken, TlsExpected
from ..client.operation import Coordinator, Operation, ask
from ..client.security.login import LoginRequest, LoginStep, log_in
from ..client.security.settings import SaslSettings, SecuritySettings, TlsSettings
from ..client.security.tls_context import make_tls_context
from ..client.steps import await_steps
from ..client.tcp_connect import TcpConnect
from ..client.versions import VersionRanges
from ..config.keys.endpoints import HostPort
from ..network.clock import Clock
from ..protocol.api import API, ApiKey
from ..protocol.errors import ErrorCode, MalformedFrame
from ..protocol.frame import decode_response, encode_request
from ..protocol.messages.metadata import MetadataRequest, MetadataResponse
from ..protocol.tls_faults import is_of_unknown_signer
from .gateways_in_front import CLIENT_ID, MOST_GATEWAYS, add_gateway, gateways_in
from .offered_versions import correct_advertised_ranges
from .upstream_connection import UpstreamConnection
from .upstream_logins import UpstreamLogin

T = TypeVar("T")
CONNECT_TIMEOUT_S = 10.0
ASK_TIMEOUT_S = 30.0
MOST_LOGIN_BYTES = 512 << 10
MOST_KNOWN_BROKERS = 1_000
"""Whose addresses are kept: a cluster that names ever new ones would take all descriptors for their ports."""
TLS_ADVICE = "; is it a broker's port, and does it want TLS? see upstream.security.protocol"
LOGIN_ADVICE = "; does it want a login? see upstream.security.protocol or, where clients log in to the cluster, brokers"
REFUSALS: Mapping[int, str] = {
    ErrorCode.INVALID_REQUEST: "leads back to this gateway",
    ErrorCode.BROKER_NOT_AVAILABLE: "is a gateway whose cluster does not answer",
}
"""What a gateway answers another one that asks for versions. It answers so itself where it has no answer."""
BOOTSTRAP = -1
"""Stands for the id of whichever broker answers."""


class UpstreamFailed(Exception):
    """The cluster could not be reached; the message says which broker, and why."""


class Upstream:
    """`bootstrap`: the servers that were given; `brokers`: the address of each broker by id, as far as known; `alive`:
    those that the cluster named last. `on_broker` is called for each new one. `answered_ms`: when the cluster last
    answered all that it was asked. `login_fault`: why the gateway's own login failed last, "" if it did not."""

    def __init__(
        self,
        bootstrap: Sequence[HostPort],
        security: SecuritySettings,
        clock: Clock,
        on_broker: Callable[[int], None],
        *,
        gateway_id: str,
        logs_clients_in: bool,
    ) -> None:
        """`logs_clients_in`: their connections to the cluster have the login of `security`; else its own alone.

        Raises: ConfigError for certificates that cannot be read.
        """
        self.brokers: dict[int, HostPort] = {}
        self.alive: frozenset[int] = frozenset()
        self.cluster_id: str | None = None
        self.answered_ms: int | None = None
        self.login_fault = ""
        self.bootstrap = bootstrap
        self._servers = BootstrapServers(bootstrap)
        self._clock = clock
        self._on_broker = on_broker
        self._connect = TcpConnect()
        self._tls = make_tls_context(security.tls) if isinstance(security.tls, TlsSettings) else None
        self.sasl = security.sasl
        self._logs_clients_in = logs_clients_in
        self._client = self._make_client(self.sasl)
        self._clients: dict[UpstreamLogin, AsyncClient] = {}
        self._versions: dict[HostPort, VersionRanges] = {}
        self._leading_back: set[HostPort] = set()
        self._gateway_id = gateway_id

    def close(self) -> None:
        self._client.close()
        self.close_clients_of_logins()

    def close_clients_of_logins(self) -> None:
        """Closes the connections of logins that are not the gateway's own."""
        while self._clients:
            self._clients.popitem()[1].close()

    def replace_login(self, sasl: SaslSettings | None) -> None:
        """Connections that are opened from now on use this login."""
        if sasl != self.sasl:
            self.sasl, self.login_fault = sasl, ""
            self._replace_own_client()

    def _replace_own_client(self) -> None:
        self._client.close()
        self._client = self._make_client(self.sasl)

    def _get_or_make_client(self, login: UpstreamLogin) -> AsyncClient:
        client = self._clients.get(login)
        if client is None:
            client = self._clients[login] = self._make_client(login.sasl)
        return client

    def _make_client(self, sasl: SaslSettings | None) -> AsyncClient:
        own = SecuritySettings(tls=self._tls, sasl=sasl)
        return AsyncClient(
            self.bootstrap,
            client_id=CLIENT_ID,
            is_named=False,  # its client id says what it is
            security=own,
            timeout_s=CONNECT_TIMEOUT_S,
            tries=5,
            connect=self._connect,
        )

    def learn_broker(self, broker: int, address: HostPort) -> None:
        """Takes the address of a broker from an answer of the cluster."""
        if self.brokers.get(broker) != address and (broker in self.brokers or len(self.brokers) < MOST_KNOWN_BROKERS):
            self.brokers[broker] = address
            self._on_broker(broker)

    async def refresh_brokers(self) -> None:
        """Asks the cluster for its brokers. Raises: ClientError, UpstreamFailed."""
        if self.login_fault:  # connections that logged in before would still be answered
            self._replace_own_client()
        try:
            self.learn_brokers(await self.run_operation(ask(MetadataRequest(topics=()), within=(1, 12))))
        except AuthenticationFailed as fault:
            self.login_fault = str(fault)
            raise
        except ConnectionBroken as fault:  # brokers that want a login answer ApiVersions before it
            raise UpstreamFailed(f"{fault}{LOGIN_ADVICE if self.sasl is None else ''}") from None
        self.login_fault = ""

    def note_answer(self) -> None:
        """The cluster has answered all that the gateway asks."""
        self.answered_ms = self._clock.monotonic_ms()

    def learn_brokers(self, response: MetadataResponse) -> None:
        """Takes the brokers that are alive from a Metadata answer of the cluster."""
        self.cluster_id = response.cluster_id or self.cluster_id
        self.alive = frozenset(broker.node_id for broker in response.brokers)
        for broker in response.brokers:
            self.learn_broker(broker.node_id, HostPort(broker.host, broker.port))
        self._servers.add_brokers(self.brokers[each] for each in self.alive if each in self.brokers)
        self._leading_back &= {*self.bootstrap, *self.brokers.values()}

    def find_broker_fault(self) -> str:
        """Which broker that is alive has an address by which the gateway comes to itself, as a client has met; "" if
        none has."""
        for broker in sorted(self.alive & self.brokers.keys()):
            if (address := self.brokers[broker]) in self._leading_back:
                told = REFUSALS[ErrorCode.INVALID_REQUEST]
                return f"{address} {told}; it is in advertised.listeners of broker {broker}"
        return ""

    async def run_operation(self, operation: Operation[T], login: UpstreamLogin | None = None) -> T:
        """The result of an operation that is carried out by a login, None: the gateway's own. Raises: ClientError."""
        client = self._client if login is None else self._get_or_make_client(login)
        return await client.run(operation)

    def find_loop_error(self, client_id: str) -> ErrorCode:
        """The error of a question for versions that came through this gateway before, or through too many. NONE: the
        cluster is asked."""
        gateways = gateways_in(client_id)
        if self._gateway_id in gateways:
            return ErrorCode.INVALID_REQUEST
        return ErrorCode.BROKER_NOT_AVAILABLE if len(gateways) > MOST_GATEWAYS else ErrorCode.NONE

    async def fetch_versions(self) -> VersionRanges:
        """The versions that a broker offers. Raises: UpstreamFailed."""
        versions: VersionRanges = (await self._try_bootstrap_servers(self._get_or_ask_versions))[1]
        return versions

    async def ask_coordinator(
        self, group: str, request: Any, version: int, *, login: UpstreamLogin | None = None
    ) -> Any:
        """The answer of a group's coordinator to a login, None: the gateway's own. Raises: ClientError."""
        to = Coordinator(group, looked_up_first=True)
        return await self.run_operation(ask(request, to=to, within=(version, version)), login)

    async def connect(
        self, broker: int, on_lost: Callable[[], None], login: UpstreamLogin | None = None, asked_by: str = ""
    ) -> tuple[UpstreamConnection, VersionRanges, HostPort]:
        """A connection for one client, logged in if the gateway does that. `asked_by`: the client id of a gateway.

        Raises: UpstreamFailed.
        """

        async def open_one(address: HostPort) -> tuple[UpstreamConnection, VersionRanges]:
            return await self._open_connection(address, on_lost, self.sasl if login is None else login.sasl, asked_by)

        if broker == BOOTSTRAP:
            address, (connection, versions) = await self._try_bootstrap_servers(open_one)
            return connection, versions, address
        known = self.brokers.get(broker)
        if known is None:
            raise UpstreamFailed(f"broker {broker} is not known")
        return *await open_one(known), known

    async def takes_connections(self, broker: int) -> bool:
        """Whether TCP connects to a broker."""
        address = self.brokers[broker]
        probe = UpstreamConnection(address, lambda: None)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await self._connect(lambda: probe, address.host or "127.0.0.1", address.port)
        except (OSError, ValueError):  # a ValueError of a host that no name is
            return False
        finally:
            probe.close()
        return True

    @property
    def release_description(self) -> str:
        """The generation of the brokers, by what they take."""
        versions = next(iter(self._versions.values()), None)
        if versions is None:
            return "version unknown"
        return "Kafka 4 or later" if versions.get(ApiKey.FETCH, (0, 0))[0] > 0 else "before Kafka 4, or a gateway"

    def forget_versions(self, address: HostPort) -> None:
        """A connection there broke: the broker may come back as another release."""
        self._versions.pop(address, None)

    def forget_all_versions(self) -> None:
        """Forgets which versions brokers offer, so that they are asked for again."""
        self._versions.clear()

    async def _try_bootstrap_servers(self, work: Callable[[HostPort], Any]) -> tuple[HostPort, Any]:
        """The first bootstrap server that answers, and what `work` made of it. Raises: UpstreamFailed."""

        async def work_there(address: HostPort) -> tuple[HostPort, Any]:
            return address, await work(address)

        steps = self._servers.try_each(lambda address: address, UpstreamFailed)
        found: tuple[HostPort, Any] = await await_steps(steps, work_there)
        return found

    async def _get_or_ask_versions(self, address: HostPort, asked_by: str = "") -> VersionRanges:
        known = self._versions.get(address)
        if known is not None:
            return known
        connection = AsyncConnection(add_gateway(asked_by, self._gateway_id), ASK_TIMEOUT_S)
        try:
            with translate_connect_faults(address):
                await self._open_tcp(lambda: connection, address)
            with translate_request_faults(address, "ApiVersions"):
                code = await connection.agree_on_versions()
        except TlsExpected:
            protocol = "SASL_SSL" if self.sasl is not None else "SSL"
            raise UpstreamFailed(f"{address} speaks TLS: set upstream.security.protocol to {protocol}") from None
        except ClientError as fault:
            raise UpstreamFailed(f"{fault}{self._advise(fault)}") from None
        finally:
            connection.close()
        if code == ErrorCode.INVALID_REQUEST:
            self._leading_back.add(address)
        if code in REFUSALS:
            raise UpstreamFailed(f"{address} {REFUSALS[code]}")
        self._leading_back.discard(address)
        if connection.versions and ApiKey.METADATA not in connection.versions:
            raise UpstreamFailed(f"{address} does not answer Metadata: it may be the port of a controller")
        self._versions[address] = versions = correct_advertised_ranges(connection.versions)
        return versions

    def _advise(self, fault: ClientError) -> str:
        if isinstance(fault, ConnectionBroken) and self._tls is None:
            return TLS_ADVICE
        return "; see upstream.ssl.truststore.location" if is_of_unknown_signer(fault.__cause__) else ""

    async def _open_tcp(self, protocol: Callable[[], asyncio.BaseProtocol], address: HostPort) -> None:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await self._connect(protocol, address.host or "127.0.0.1", address.port, tls=self._tls)

    async def _open_connection(
        self, address: HostPort, on_lost: Callable[[], None], sasl: SaslSettings | None, asked_by: str
    ) -> tuple[UpstreamConnection, VersionRanges]:
        versions = await self._get_or_ask_versions(address, asked_by)
        connection = UpstreamConnection(address, on_lost)
        with self._close_on_fault(connection, address, sasl):
            await self._open_tcp(lambda: connection, address)
            if self._logs_clients_in and sasl is not None:
                await self._log_in(connection, versions, sasl)
        return connection, versions

    async def renew_login(
        self, connection: UpstreamConnection, versions: VersionRanges, address: HostPort, login: UpstreamLogin | None
    ) -> None:
        """Logs in again on a connection that waits for no answer (KIP-368); closes it if the login is another by now,
        which a broker refuses there. Raises: UpstreamFailed."""
        sasl = self.sasl if login is None else login.sasl
        if sasl is None or sasl != connection.logged_in_by:
            connection.close()
            return
        with self._close_on_fault(connection, address, sasl):
            await self._log_in(connection, versions, sasl)

    async def _log_in(self, connection: UpstreamConnection, versions: VersionRanges, sasl: SaslSettings) -> None:
        async with asyncio.timeout(ASK_TIMEOUT_S):
            lifetime_ms = await await_steps(log_in(sasl, versions), _LoginSteps(connection).do_step)
        connection.logged_in_by = sasl
        connection.log_in_at_ms = self._clock.monotonic_ms() + lifetime_ms * LOGIN_USE if lifetime_ms > 0 else inf

    @contextmanager
    def _close_on_fault(
        self, connection: UpstreamConnection, address: HostPort, sasl: SaslSettings | None
    ) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, MalformedFrame, ClientError) as fault:  # a ValueError of a host that no name is
            connection.close()
            self.forget_versions(address)
            why = f"{address}: {fault or type(fault).__name__}"
            if isinstance(fault, AuthenticationFailed) and sasl is self.sasl:
                self.login_fault = why
            raise UpstreamFailed(why) from None
        except BaseException:
            connection.close()
            raise


class _LoginSteps:
    """Takes the steps of a login on a connection."""

    def __init__(self, connection: UpstreamConnection) -> None:
        self._connection = connection

    async def do_step(self, step: LoginStep) -> Any:
        """Raises: OSError, MalformedFrame, ClientError."""
        if not isinstance(step, LoginRequest):
            raise ClientError("the broker has no SaslAuthenticate, which is older than Kafka 1.0")
        spec = API[ApiKey(step.key)]
        await self._connection.send(encode_request(spec, step.version, 0, CLIENT_ID, step.request))
        size, correlation_id = await self._connection.read_head()
        if size > MOST_LOGIN_BYTES:
            raise MalformedFrame(f"an answer of {size} bytes to a login")
        head = correlation_id.to_bytes(4, "big", signed=True)
        return decode_response(spec, step.version, memoryview(head + await self._connection.read(size)))[1]
