"""Gauges: what a scrape reads off the broker as it stands."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from .instruments import GaugeRow

if TYPE_CHECKING:
    from .broker import Broker


def show_state(broker: "Broker") -> None:
    """Registers the gauges of one broker."""
    gauge = broker.metrics.instruments.gauge
    budget, requests = broker.conversion_budget, broker.request_memory
    gauge("stepdown_downconversion_inflight_bytes", "Conversion memory in use", lambda: budget.in_use_bytes)
    gauge("stepdown_downconversion_peak_bytes", "Most conversion memory in use so far", lambda: budget.peak_bytes)
    gauge("stepdown_downconversion_limit_bytes", "Conversion memory there is", lambda: budget.limit_bytes)
    gauge("stepdown_downconversion_waiters", "Chunks waiting for conversion memory", lambda: budget.waiting)
    gauge("stepdown_request_memory_pool_used_bytes", "Memory of large requests", lambda: requests.in_use_bytes)
    gauge(
        "stepdown_request_memory_pool_available_bytes",
        "What queued.max.request.bytes leaves",
        lambda: requests.limit_bytes - requests.in_use_bytes,
    )
    gauge("stepdown_connections", "Open connections", lambda: broker.connections)
    gauge("stepdown_fetch_sessions", "Incremental fetch sessions", lambda: len(broker.sessions))
    gauge("stepdown_fetch_session_partitions", "Partitions in fetch sessions", lambda: broker.sessions.partitions)
    gauge("stepdown_purgatory_operations", "Parked requests", lambda: _parked(broker), "operation")
    gauge("stepdown_partitions", "Partitions on this broker", lambda: len(broker.cluster.partitions()))
    gauge("stepdown_leader_partitions", "Partitions that this broker leads", lambda: len(broker.cluster.partitions()))
    _show_logs(broker)


def _show_logs(broker: "Broker") -> None:
    gauge = broker.metrics.instruments.gauge
    for name, help, attribute in (
        ("stepdown_log_size_bytes", "Bytes of a partition", "size_bytes"),
        ("stepdown_log_start_offset", "First offset", "log_start_offset"),
        ("stepdown_log_end_offset", "Next offset", "log_end_offset"),
    ):
        gauge(name, help, partial(_rows, broker, attribute), "topic", "partition")


def _rows(broker: "Broker", attribute: str) -> Iterable[GaugeRow]:
    return [
        ((partition.topic_name, str(partition.index)), float(getattr(partition.log, attribute)))
        for partition in broker.cluster.partitions()
    ]


def _parked(broker: "Broker") -> Iterable[GaugeRow]:
    return [(("fetch",), len(broker.fetch_purgatory)), (("produce",), len(broker.produce_purgatory))]
