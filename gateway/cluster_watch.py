"""Asks the cluster for its brokers at intervals, and knows why it does not answer."""

import asyncio
import logging

from ..client.errors import ClientError
from ..network.clock import Clock
from .addresses.broker_ports import BrokerPorts
from .gateway_metrics import GatewayMetrics
from .settings import GatewaySettings
from .upstream import Upstream, UpstreamFailed

SILENT_MS = 60_000
"""A cluster that has not answered for this long counts as silent."""
RETRY_MS = 1_000
"""The interval between requests to a cluster that does not answer."""
FIRST_ANSWER_MS = 3_000
"""How long the gateway's first line waits for the cluster."""

log = logging.getLogger(__name__)


class ClusterWatch:
    """Opens the ports in `ports` of brokers that the cluster names."""

    def __init__(
        self, settings: GatewaySettings, upstream: Upstream, ports: BrokerPorts, metrics: GatewayMetrics, clock: Clock
    ) -> None:
        self._settings = settings
        self._upstream = upstream
        self._ports = ports
        self._metrics = metrics
        self._clock = clock
        self._refreshing: asyncio.Task[None] | None = None
        self._fault = ""
        """Why the cluster did not answer when it was asked last."""

    async def start(self, known_fault: str) -> str:
        """Returns "" if the cluster was reached, else why not, for the first line that the gateway prints. Waits for
        the cluster for `FIRST_ANSWER_MS` at most, and not at all with a `known_fault`, which another worker has
        found."""
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if known_fault:
            told.set_result(known_fault)
        self._refreshing = asyncio.create_task(self._keep_refreshing(told))
        patience = asyncio.create_task(self._clock.sleep(FIRST_ANSWER_MS))
        try:
            await asyncio.wait((told, self._refreshing, patience), return_when=asyncio.FIRST_COMPLETED)
        finally:
            patience.cancel()
        if self._refreshing.done():
            self._refreshing.result()
        if not told.done():
            told.set_result(f"no answer within {FIRST_ANSWER_MS // 1000} s; it is still being asked")
        return told.result()

    async def stop(self) -> None:
        """Stops asking the cluster."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)

    async def refresh_brokers(self) -> str:
        """Asks the cluster for its brokers; returns "", or why it did not answer."""
        self._fault = await self._try_to_reach_cluster()
        return self._fault

    def find_fault(self) -> str:
        """Why the cluster would not answer requests now, "" if it would."""
        if self._upstream.login_fault:
            return f"the gateway cannot log in to the cluster: {self._upstream.login_fault}"
        answered_ms = self._upstream.answered_ms
        if answered_ms is None:
            return f"no broker of the cluster has answered yet: {self._fault or 'it is being asked'}"
        silent_ms = self._clock.monotonic_ms() - answered_ms
        if self._fault or silent_ms > SILENT_MS:
            why = self._fault or "it is being asked"
            return f"no broker of the cluster has answered for {silent_ms // 1000} s: {why}"
        brokers = self._upstream.alive or self._ports.ports.keys()
        if brokers and brokers <= self._ports.closed:
            return "no broker of the cluster takes connections"
        return self._upstream.find_broker_fault()

    async def _try_to_reach_cluster(self) -> str:
        upstream = self._upstream
        try:
            await upstream.fetch_versions()
            if upstream.sasl is not None or not self._settings.brokers:  # else clients log in, the gateway cannot
                await upstream.refresh_brokers()
        except (ClientError, UpstreamFailed) as fault:
            self._metrics.upstream_failures.of("bootstrap").add()
            return str(fault)
        upstream.note_answer()
        self._ports.retry_failed(upstream.alive or upstream.brokers)
        return ""

    async def _keep_refreshing(self, told: asyncio.Future[str]) -> None:
        """Sets `told`, unless it is set, to the fault of the first request; then repeats it at intervals."""
        again, fault = "", await self.refresh_brokers()
        if not told.done():
            told.set_result(fault)
        logged = told.result()
        while True:
            if fault and fault != logged:
                log.warning("the cluster does not answer: %s", fault)
            elif logged and not fault:
                log.info("the cluster answers%s", again)
            logged = fault
            await self._clock.sleep(self._refresh_delay_ms())
            self._upstream.forget_all_versions()
            again = " again" if self._upstream.answered_ms is not None else ""
            fault = await self.refresh_brokers()

    def _refresh_delay_ms(self) -> int:
        """The time until the next request. A refused login is not tried more often, since that may lock the user."""
        is_away = self._fault and not self._upstream.login_fault
        return min(RETRY_MS, self._settings.refresh_ms) if is_away else self._settings.refresh_ms
