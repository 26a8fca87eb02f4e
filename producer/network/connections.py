"""The producer's connections: one per broker, opened when there is something to send, retried with growing pauses."""

import asyncio
import os
import random
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ...client.security.settings import TlsSettings
from ...client.security.tls_context import make_tls_context
from ...client.tcp_connect import Connect, TcpConnect
from ...client.versions import VersionRanges
from ...config.keys.endpoints import HostPort
from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode
from ..backoff import Backoff
from ..clock import NEVER_MS, Clock
from ..errors import ProducerError
from ..limited_log import LimitedLog
from ..metadata import MAX_BROKERS
from ..sender.network_interface import NetworkAnswer
from ..settings import ProducerSettings
from .connection import Connection, make_tls_fault

MAX_NODES = 2 * MAX_BROKERS
"""Brokers whose connection, or why there is none, is kept; a cluster that renames its brokers grows to that."""


@dataclass(slots=True)
class _Node:
    address: HostPort
    connection: Connection | None = None
    task: "asyncio.Task[None] | None" = None
    failures: int = 0
    failure: str = ""
    again_ms: int = 0


class Connections:
    """The `NetworkClient` over TCP."""

    def __init__(
        self,
        settings: ProducerSettings,
        clock: Clock,
        changed: Callable[[], None],
        *,
        draws: random.Random | None = None,
        connect: Connect | None = None,
    ) -> None:
        """`draws` is for tests, as it is of the producer; so is another `connect`."""
        self._open = connect or TcpConnect()
        self._settings, self._clock, self._changed = settings, clock, changed
        self.fault: ProducerError | None = None
        tls = settings.security.tls
        self._tls = make_tls_context(tls) if isinstance(tls, TlsSettings) else tls
        self._log = LimitedLog(settings.client_id, clock.now_ms)
        self._backoff = Backoff(
            initial_ms=settings.reconnect_backoff_ms,
            max_ms=settings.reconnect_backoff_max_ms,
            draws=draws or random.Random(),
        )
        self._nodes: dict[int, _Node] = {}
        self._is_closed = False

    @property
    def in_flight(self) -> int:
        return sum(node.connection.in_flight for node in self._nodes.values() if node.connection is not None)

    def ready(self, node_id: int, address: HostPort, now_ms: int) -> bool:
        node = self._nodes.get(node_id)
        if node is None:
            if len(self._nodes) >= MAX_NODES:
                self._forget_idle_nodes()
            node = self._nodes[node_id] = _Node(address)
        elif node.address is not address and node.address != address:
            node.address, node.failures, node.again_ms = address, 0, 0
            if node.connection is not None:
                node.connection.close()
        connection = node.connection
        if connection is None:
            if node.task is None and now_ms >= node.again_ms:
                node.task = asyncio.get_running_loop().create_task(self._connect(node))
            return False
        return connection.can_send and connection.in_flight < self._settings.max_in_flight

    def versions(self, node_id: int) -> VersionRanges:
        connection = self._nodes[node_id].connection
        return connection.versions if connection is not None else {}

    def send(
        self,
        node_id: int,
        key: ApiKey,
        version: int,
        request: Any,
        done: Callable[[NetworkAnswer], None],
        *,
        answered: bool,
    ) -> None:
        connection = self._nodes[node_id].connection
        assert connection is not None, f"node {node_id} is not connected"
        connection.send(key, version, request, done, answered=answered)

    def flush_and_expire(self, now_ms: int) -> int:
        next_ms = NEVER_MS
        for node in self._nodes.values():
            if node.connection is not None:
                left_ms = self._flush_and_expire_one(node.connection, now_ms)
            elif node.task is None and node.again_ms > now_ms:
                left_ms = node.again_ms - now_ms
            else:
                continue
            if left_ms < next_ms:
                next_ms = left_ms
        return next_ms

    def sort_by_load(self, nodes: Iterable[int]) -> list[int]:
        def load(node_id: int) -> tuple[int, int]:
            node = self._nodes.get(node_id)
            if node is None:
                return 1, 0
            if node.connection is not None and node.connection.open:
                return 0, node.connection.in_flight
            return (1 if node.connection is not None or node.task is not None else 2), node.failures

        return sorted(nodes, key=load)

    def failures(self) -> dict[HostPort, str]:
        """Why connecting failed the last time, by address."""
        return {node.address: node.failure for node in self._nodes.values() if node.failure}

    def close(self) -> None:
        self._is_closed = True
        for node in self._nodes.values():
            if node.task is not None:
                node.task.cancel()
            if node.connection is not None:
                node.connection.close()

    def _flush_and_expire_one(self, connection: Connection, now_ms: int) -> int:
        """Writes what was sent, closes what waited or idled too long; how long until the next such moment."""
        connection.flush()
        oldest_ms = connection.oldest_sent_ms
        if oldest_ms is None and connection.good_until_ms is not None and now_ms >= connection.good_until_ms:
            connection.close()
            return 0
        if oldest_ms is None:
            idle_ms = self._settings.connections_max_idle_ms
            if idle_ms >= 0 and now_ms - connection.used_ms >= idle_ms:
                connection.close()
            return connection.used_ms + idle_ms - now_ms if idle_ms >= 0 else NEVER_MS
        left_ms = oldest_ms + self._settings.request_timeout_ms - now_ms
        if left_ms <= 0:
            connection.close(ErrorCode.REQUEST_TIMED_OUT)
        return max(left_ms, 0)

    async def _connect(self, node: _Node) -> None:
        loop = asyncio.get_running_loop()
        sasl, host = self._settings.security.sasl, node.address.host or "127.0.0.1"
        connection = Connection(self._settings.client_id, self._clock.now_ms, lambda: self._react_to_change(node), sasl)
        attempt = loop.create_task(self._open(lambda: connection, host, node.address.port, tls=self._tls))
        timer = self._clock.call_later(self._settings.connect_timeout_ms, attempt.cancel)
        try:
            await attempt
            node.connection = connection
            if connection.closed or connection.open:
                self._react_to_change(node)
        except (Exception, asyncio.CancelledError) as fault:  # ports and names that cannot be raise all kinds
            attempt.cancel()
            connection.close()  # what was cancelled may just have been done
            task = asyncio.current_task()
            if isinstance(fault, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            if isinstance(fault, ssl.SSLError):
                self.fault = self.fault or make_tls_fault(fault)
            self._begin_backoff(node)
            self._note_failure(node, self._describe_connect_failure(fault))
        finally:
            timer.cancel()
            node.task = None
            self._changed()

    def _react_to_change(self, node: _Node) -> None:
        """Called when a connection has opened, closed, or written everything."""
        connection = node.connection
        if connection is not None and connection.closed:
            node.connection = None
            self.fault = self.fault or connection.fault
            self._begin_backoff(node)
            if not (connection.was_open or self._is_closed):
                self._note_failure(node, self._describe_early_close(connection))
        elif connection is not None and connection.open:
            if node.failure:
                host, port = node.address.host or "127.0.0.1", node.address.port
                self._log.warning(f"connected {host}:{port}", "%s:%d answers again", host, port)
            node.failures, node.failure = 0, ""
        self._changed()

    def _describe_connect_failure(self, fault: BaseException) -> str:
        if isinstance(fault, asyncio.CancelledError):
            return f"no answer within {self._settings.connect_timeout_ms} ms"
        hung_up = isinstance(fault, ConnectionResetError | ConnectionAbortedError)
        if self._tls is not None and hung_up:
            return "it hung up in the TLS handshake: is it a listener with TLS?"
        number = fault.errno if isinstance(fault, OSError) and not isinstance(fault, ssl.SSLError) else None
        if number is not None and number > 0:
            return os.strerror(number)  # asyncio has words of its own around it
        return str(fault) or type(fault).__name__

    def _describe_early_close(self, connection: Connection) -> str:
        """Why a connection came to nothing, as far as one can tell."""
        if connection.fault is not None:
            return str(connection.fault)
        if connection.ending is ErrorCode.REQUEST_TIMED_OUT:
            return f"no answer to the first request within {self._settings.request_timeout_ms} ms"
        spoken = "TLS" if self._tls is not None else "plain text"
        where = "a TLS or SASL listener" if self._tls is None else "a listener without TLS, or with SASL"
        return f"it hung up on the first request, in {spoken}: is it {where}?"

    def _note_failure(self, node: _Node, reason: str) -> None:
        node.failure = reason
        host, port = node.address.host or "127.0.0.1", node.address.port
        text = "no broker answers at %s:%d, trying until a broker answers: %s"
        self._log.warning(f"connecting {host}:{port}", text, host, port, reason)

    def _forget_idle_nodes(self) -> None:
        used = {node_id: node for node_id, node in self._nodes.items() if node.connection or node.task}
        self._nodes = used

    def _begin_backoff(self, node: _Node) -> None:
        node.failures += 1
        node.again_ms = self._clock.now_ms() + self._backoff.delay_ms(node.failures)
