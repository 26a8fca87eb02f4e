"""What the page shows of a gateway: an overview, and the clients."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..config import HostPort
from ..network.http.server import MakePage
from ..network.metrics.instruments import DURATION_BUCKETS
from ..network.page.budget_row import describe_budget
from ..network.page.client_rows import ClientRows, Rows
from ..network.page.durations import sum_durations
from ..network.page.page_query import PageQuery
from ..network.page.page_site import View

if TYPE_CHECKING:
    from .gateway import Gateway

Work = Callable[[Callable[[], Rows]], Awaitable[Rows]]
MOST_PORTS = 100


class PageViews:
    """The views of one gateway. `ready` is its page /readyz, `work` runs a function in a thread."""

    def __init__(self, gateway: "Gateway", ready: MakePage, work: Work) -> None:
        self._gateway = gateway
        self._ready = ready
        self._started_ms = gateway.clock.now_ms()
        self._clients = ClientRows(gateway.clients, work)

    def by_name(self) -> Mapping[str, View]:
        """What answers below /api/."""
        return {"overview": self.overview, "clients": self._clients.show}

    async def overview(self, query: PageQuery) -> dict[str, Any]:
        """As of a broker, without id, directories and topics. Requests are counted by what was done with them."""
        gateway = self._gateway
        metrics = gateway.metrics
        is_ready = (await self._ready()).status == HTTPStatus.OK
        return {
            "software": "stepdown gateway",
            "views": ["overview", "clients"],
            "version": __version__,
            "cluster_id": gateway.upstream.cluster_id or "",
            "node_id": -1,
            "controller_id": -1,
            "is_ready": is_ready,
            "started_ms": self._started_ms,
            "now_ms": gateway.clock.now_ms(),
            "elapsed_s": gateway.clock.elapsed_s(),
            "log_directories": [],
            "brokers": self._list_addresses(),
            "counts": {"connections": gateway.connections, "clients": len(gateway.clients)},
            "traffic": {"bytes_in": metrics.client_bytes.value, "bytes_out": metrics.upstream_bytes.value},
            "requests": await sum_durations(
                ((row[0][0], row) for row in metrics.request_seconds.rows()), gateway.turns.begin()
            ),
            "bounds_s": DURATION_BUCKETS,
            "memory": [describe_budget("answers", gateway.answer_memory)],
            "problems": self._find_problems(is_ready),
        }

    def _list_addresses(self) -> list[dict[str, Any]]:
        """Where clients connect to: the bootstrap port, and the ports that stand for brokers."""
        gateway = self._gateway
        own = {"id": -1, "rack": None, "listeners": {"bootstrap": str(gateway.address)}}
        places = [
            (broker, HostPort(gateway.address.host, port))
            for broker, port in sorted(gateway.ports.ports.items())[:MOST_PORTS]
        ]
        return [own, *({"id": broker, "rack": None, "listeners": {f"{broker}": str(at)}} for broker, at in places)]

    def _find_problems(self, is_ready: bool) -> list[dict[str, Any]]:
        servers = [str(address) for address in self._gateway.settings.bootstrap]
        unreachable = {
            "what": "cluster that has not answered for a minute, asked at",
            "count": 1,
            "names": servers[:10],
            "help": "upstream.bootstrap.servers, its security settings, and the log of the gateway",
        }
        return [] if is_ready else [unreachable]
