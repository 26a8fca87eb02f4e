"""The views of a gateway for the page: an overview and the clients."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from .. import __version__
from ..config import HostPort
from ..network.clients.client_report import ClientReport
from ..network.clock import Clock
from ..network.http.server import MakePage
from ..network.memory_budget import MemoryBudget
from ..network.metrics.instruments import DURATION_BUCKETS
from ..network.page.client_rows import ClientRows
from ..network.page.durations import sum_durations
from ..network.page.memory_rows import describe_budget
from ..network.page.page_query import PageQuery
from ..network.page.page_site import View
from ..network.page.problem import Problem
from ..network.page.stalled_clients import find_clients_stuck_on_zstd
from ..network.turn import Turns
from .addresses.broker_ports import BrokerPorts
from .gateway_metrics import GatewayMetrics
from .upstream import Upstream

Work = Callable[[Callable[[], Any]], Awaitable[Any]]
MOST_PORTS = 100
UPSTREAM_HELP = "upstream.bootstrap.servers, upstream.security.protocol, and the log of the gateway"
LOGIN_HELP = "upstream.sasl.*, and what the cluster knows of that user"
PORTS_HELP = "first.port, or addresses: single"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageViews:
    """The views of one gateway. `ready` makes its page /readyz. `find_cluster_fault` returns why the cluster does not
    answer, "" if it does. `work` runs a function in a thread."""

    clock: Clock
    turns: Turns
    clients: ClientReport
    metrics: GatewayMetrics
    upstream: Upstream
    ports: BrokerPorts
    answer_memory: MemoryBudget
    find_address: Callable[[], HostPort]
    count_connections: Callable[[], int]
    ready: MakePage
    find_cluster_fault: Callable[[], str]
    work: Work
    started_ms: int

    def views_by_name(self) -> Mapping[str, View]:
        """The views by their names below /api/."""
        return {"overview": self.overview, "clients": ClientRows(self.clients, self.work).show}

    async def overview(self, query: PageQuery) -> dict[str, Any]:
        """As of a broker, without id, directories and topics. Requests are counted by how they were handled."""
        metrics = self.metrics
        return {
            "software": "stepdown gateway",
            "views": ["overview", "clients"],
            "version": __version__,
            "cluster_id": self.upstream.cluster_id or "",
            "node_id": -1,
            "controller_id": -1,
            "is_ready": (await self.ready()).status == HTTPStatus.OK,
            "started_ms": self.started_ms,
            "now_ms": self.clock.now_ms(),
            "elapsed_s": self.clock.monotonic_s(),
            "upstream": ",".join(map(str, self.upstream.bootstrap)),
            "log_directories": [],
            "brokers": self._list_addresses(),
            "counts": {"connections": self.count_connections(), "clients": len(self.clients)},
            "kafka_4_refuses": await self.work(self.clients.make_refused_clients_counter()),
            "traffic": {"bytes_in": metrics.client_bytes.value, "bytes_out": metrics.upstream_bytes.value},
            "requests": await sum_durations(
                ((row[0][0], row) for row in metrics.request_seconds.rows()), self.turns.begin()
            ),
            "bounds_s": DURATION_BUCKETS,
            "memory": [describe_budget("answers", self.answer_memory)],
            "problems": self._find_problems(),
        }

    def _list_addresses(self) -> list[dict[str, Any]]:
        """The addresses for clients: the bootstrap port and the ports of brokers."""
        address = self.find_address()
        own = {"id": -1, "rack": None, "listeners": {"bootstrap": str(address)}}
        return [own, *(self._describe_port(*each) for each in sorted(self.ports.ports.items())[:MOST_PORTS])]

    def _describe_port(self, broker: int, port: int) -> dict[str, Any]:
        at = HostPort(self.find_address().host, port)
        is_closed = broker in self.ports.closed
        return {"id": broker, "rack": None, "listeners": {f"{broker}": str(at)}, "is_closed": is_closed}

    def _find_problems(self) -> list[dict[str, Any]]:
        """Problems with the cluster, with the ports here and of clients, each with what to look at or to do."""
        cluster, ports = list(filter(None, [self.find_cluster_fault()])), list(self.ports.faults.values())
        own = LOGIN_HELP if self.upstream.login_fault else UPSTREAM_HELP
        without = "broker without a port here" if len(ports) == 1 else "brokers without a port here"
        found = (
            Problem("fault that keeps clients from the cluster", own).add_all(cluster),
            Problem(without, PORTS_HELP).add_all(ports),
            find_clients_stuck_on_zstd(self.clients, self.clock.now_ms()),
        )
        return [problem.document() for problem in found if problem.count]
