"""The objects that all sessions of a gateway share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ...client.versions import VersionRange
from ...config.keys.endpoints import HostPort
from ...network.admission.peer_log_limit import PeerLogLimit
from ...network.clients.client_report import ClientReport
from ...network.clock import Clock
from ...network.turn import Turns
from ...network.worker_threads import WorkerThreads
from ...protocol.records.layout import Codec
from ..gateway_metrics import GatewayMetrics
from ..routes.locator import BrokerLocator
from ..upstream import Upstream
from .request_decoder import RequestDecoder

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTools:
    """`locator` finds the broker of a request; None unless all brokers have one address.

    `decoder` decodes requests that are not passed on as they came. `offer` returns the versions of an API to offer if
    the cluster takes the given ones; `translate_address`, the gateway's address of a broker. Answers that are held
    whole have to come at `min_bytes_a_second` while others wait for memory. `zstd_to`: the codec for clients that
    cannot read zstd. `swaps`: clients have the gateway's login at the cluster. `suspect` starts to try a broker that
    may be gone. `lines` limits the log lines about clients."""

    upstream: Upstream
    decoder: RequestDecoder
    turns: Turns
    locator: BrokerLocator | None
    offer: Callable[[int, VersionRange], VersionRange]
    metrics: GatewayMetrics
    clock: Clock
    min_bytes_a_second: int
    workers: WorkerThreads
    translate_address: Callable[[int, HostPort], HostPort]
    clients: ClientReport
    zstd_to: Codec | None
    swaps: bool
    suspect: Callable[[int], None]
    lines: PeerLogLimit

    async def run_maybe_in_worker(self, work: Callable[[], T], *, in_worker: bool) -> T:
        """Runs `work`, in a worker thread if asked to; returns its result."""
        return await self.workers.run(work) if in_worker else work()
