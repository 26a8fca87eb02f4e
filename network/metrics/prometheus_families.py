"""The metrics as families of prometheus-client, and as the text that Prometheus scrapes.

Imported by a worker thread, when somebody first asks for the metrics: the library takes 3 MiB and 40 ms.
"""

from collections.abc import Iterable
from typing import Any, Final

from prometheus_client import CONTENT_TYPE_LATEST, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from .instruments import FamilySnapshot

__all__ = ["CONTENT_TYPE_LATEST", "Metric", "make_metric", "read_process", "render_text"]

FAMILIES: dict[str, Any] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
}


def make_metric(snapshot: FamilySnapshot) -> Metric:
    """The metric family of these rows."""
    family: Metric = FAMILIES[snapshot.kind](snapshot.name, snapshot.help, labels=snapshot.labels)
    for row in snapshot.rows:
        family.add_metric(*row)  # type: ignore[attr-defined]
    return family


_PROCESS: Final = ProcessCollector(registry=None)


def read_process() -> Iterable[Metric]:
    """Memory, CPU time, start and open files of this process, as they are now."""
    return _PROCESS.collect()


def render_text(metrics: Iterable[Metric]) -> bytes:
    """The page that Prometheus scrapes, in `CONTENT_TYPE_LATEST`."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Metrics(metrics))
    return generate_latest(registry)


class _Metrics(Collector):
    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics
