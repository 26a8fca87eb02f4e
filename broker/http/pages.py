"""The pages: /metrics for Prometheus, /healthz (the process answers), /readyz (clients are served, some disk works),
/clients (who is there). The page for people has the other paths."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from ...network.admission.password_delays import PasswordDelays
from ...network.admission.peer_log_limit import PeerLogLimit
from ...network.http.clients_page import ClientsPage
from ...network.http.metrics_page import MetricsPage
from ...network.http.server import MakePage, Page
from ...network.page.page_access import PageAccess
from ...network.page.page_site import PageSite, View

if TYPE_CHECKING:
    from ..core import Core
    from ..page.broker_state import BrokerState


def pages_of(core: "Core", is_ready: Callable[[], bool]) -> dict[str, MakePage]:
    """The pages of one broker, by path."""

    async def alive() -> Page:
        return Page(body=b"alive\n")

    async def ready() -> Page:
        if not is_ready():
            return _make_unready_page("loading logs or shutting down")
        if core.log_manager.failing_directories() >= set(core.log_manager.directories):
            return _make_unready_page("every log directory fails, see the log")
        return Page(body=b"ready\n")

    metrics = MetricsPage(core.metrics.instruments, core.turns, core.workers.run)
    return {"/metrics": metrics, "/healthz": alive, "/readyz": ready}


def private_pages_of(core: "Core") -> dict[str, MakePage]:
    """The pages for readers who may see the page for people."""
    return {"/clients": ClientsPage(core.clients, core.run_in_worker)}


def page_access_of(core: "Core", lines: PeerLogLimit) -> PageAccess:
    """Decides which requests may see the page."""
    delay_ms = core.settings.connection_failed_authentication_delay_ms
    delays = PasswordDelays(core.clock, delay_ms, core.metrics.failed_authentications, lines)
    return PageAccess(core.settings.stepdown_page_password or "", delays)


def page_site_of(state: "BrokerState", access: PageAccess) -> PageSite | None:
    """The page for people, where the settings allow it."""
    services, settings = state.services, state.services.settings
    if not settings.stepdown_page_enabled:
        return None

    def make_views() -> Mapping[str, View]:
        from ..page.views import views_of

        return views_of(state)

    async def write(fields: Mapping[str, Any]) -> dict[str, Any]:
        from ..page.record_writing import write_record

        return await write_record(services, fields)

    async def control(fields: Mapping[str, Any]) -> dict[str, Any]:
        from ..page.fault_control import FaultControl

        return await FaultControl(services).act(fields)

    actions = {"faults": control, **({"records": write} if settings.stepdown_page_produce else {})}
    return PageSite(make_views, access, actions)


def _make_unready_page(reason: str) -> Page:
    return Page(body=f"not ready: {reason}\n".encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)
