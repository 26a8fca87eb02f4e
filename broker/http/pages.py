"""The pages: /metrics for Prometheus, /healthz (the process answers), /readyz (clients are served)."""

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from .server import Page

if TYPE_CHECKING:
    from ..broker import Broker


def pages_of(broker: "Broker") -> dict[str, Callable[[], Page]]:
    """The pages of one broker, by path."""

    def metrics() -> Page:
        return Page(body=generate_latest(broker.metrics.registry), content_type=CONTENT_TYPE_LATEST)

    def ready() -> Page:
        if broker.is_ready:
            return Page(body=b"ready\n")
        return Page(body=b"not ready: loading logs or shutting down\n", status=HTTPStatus.SERVICE_UNAVAILABLE)

    return {"/metrics": metrics, "/healthz": lambda: Page(body=b"alive\n"), "/readyz": ready}
