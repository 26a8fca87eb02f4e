"""Gauges, whose values are read from the broker at each scrape."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from ...network.metrics.instruments import GaugeRow, sum_as_one_row
from ...storage.directories.log_manager import LogManager
from ...storage.log.log import Log
from .cleaner_gauges import register_cleaner_gauges
from .group_gauges import register_group_gauges
from .transaction_gauges import register_transaction_gauges

if TYPE_CHECKING:
    from ..core import Core
    from ..groups.coordinator import GroupCoordinator
    from ..maintenance.log_cleaner import Cleaner
    from ..metadata.image import MetadataImage
    from ..transactions.coordinator import TransactionCoordinator


def register_gauges(
    core: "Core",
    connections: Callable[[], int],
    groups: "Callable[[], GroupCoordinator | None]",
    transactions: "Callable[[], TransactionCoordinator | None]",
    cleaner: "Cleaner",
) -> None:
    """Registers the gauges of one broker."""
    gauge = core.metrics.instruments.gauge
    budget, requests = core.conversion_budget, core.request_memory
    gauge("stepdown_downconversion_inflight_bytes", "Conversion memory in use", lambda: budget.in_use_bytes)
    gauge(
        "stepdown_downconversion_peak_bytes",
        "Most conversion memory in use so far; above the limit only if one chunk is larger",
        lambda: budget.peak_bytes,
    )
    gauge("stepdown_downconversion_limit_bytes", "Limit of conversion memory", lambda: budget.limit_bytes)
    gauge("stepdown_downconversion_waiters", "Chunks waiting for conversion memory", lambda: budget.waiting_count)
    gauge("stepdown_request_memory_pool_used_bytes", "Request memory in use", lambda: requests.in_use_bytes)
    gauge(
        "stepdown_request_memory_pool_available_bytes",
        "Request memory (queued.max.request.bytes) that is free",
        lambda: requests.limit_bytes - requests.in_use_bytes,
    )
    gauge("stepdown_connections", "Open connections", connections)
    gauge("stepdown_fetch_sessions", "Incremental fetch sessions", lambda: len(core.sessions))
    gauge("stepdown_fetch_session_partitions", "Partitions in fetch sessions", lambda: core.sessions.partitions)
    gauge("stepdown_purgatory_operations", "Parked requests", lambda: _parking_rows(core), "operation")
    gauge(
        "stepdown_partitions",
        "Partitions on this broker",
        lambda: sum_as_one_row(1 for _ in core.cluster.each_local_partition()),
    )
    gauge(
        "stepdown_topics_without_settings",
        "Topics whose settings are not known, which are neither deleted from nor compacted",
        lambda: sum_as_one_row(each.settings.stepdown_settings_unknown for each in tuple(core.cluster.topics.values())),
    )
    gauge("stepdown_leader_partitions", "Partitions that this broker leads", lambda: _count_led(core.cluster))
    gauge("stepdown_producer_ids", "Producer ids that logs remember", lambda: _count_producers(core))
    gauge(
        "stepdown_offline_log_directories",
        "Log directories with a failed write or sync",
        lambda: _count_failed_directories(core.log_manager),
    )
    gauge(
        "stepdown_offline_partitions",
        "Partitions whose files cannot be used until the broker is started again",
        lambda: _count_offline(core.cluster),
    )
    _register_log_gauges(core)
    register_group_gauges(core, groups)
    register_transaction_gauges(core, transactions)
    register_cleaner_gauges(core, cleaner)


def _count_led(cluster: "MetadataImage") -> Iterable[GaugeRow | None]:
    return sum_as_one_row(each.leader_id == cluster.node_id for each in cluster.each_local_partition())


def _count_offline(cluster: "MetadataImage") -> Iterable[GaugeRow | None]:
    topics = tuple(cluster.topics.values())
    partitions = (each for topic in topics for each in tuple(topic.partitions.values()))
    return sum_as_one_row(map(cluster.is_offline_here, partitions))


def _count_failed_directories(manager: LogManager) -> Iterator[GaugeRow | None]:
    found = set()
    for directory in manager.directory_of_each_failed_log():
        if directory is not None:
            found.add(directory)
        yield None
    yield (), float(len(found))


def _register_log_gauges(core: "Core") -> None:
    gauge = core.metrics.instruments.gauge
    shown: tuple[tuple[str, str, Callable[[Log], int]], ...] = (
        ("stepdown_log_size_bytes", "Bytes of a partition", attrgetter("size_bytes")),
        ("stepdown_log_segments", "Segments of a partition", lambda log: len(log.segments)),
        ("stepdown_log_start_offset", "First offset", attrgetter("log_start_offset")),
        ("stepdown_log_end_offset", "Next offset", attrgetter("log_end_offset")),
    )
    for name, help, read in shown:
        gauge(name, help, partial(_log_rows, core, read), "topic", "partition")


def _log_rows(core: "Core", read: Callable[[Log], int]) -> Iterable[GaugeRow]:
    return (
        ((partition.topic_name, str(partition.index)), float(read(partition.log)))
        for partition in core.cluster.each_local_partition()
    )


def _count_producers(core: "Core") -> Iterable[GaugeRow | None]:
    return sum_as_one_row(
        len(partition.log.producers.state.producers) for partition in core.cluster.each_local_partition()
    )


def _parking_rows(core: "Core") -> Iterable[GaugeRow]:
    return [(("fetch",), len(core.fetch_purgatory)), (("produce",), len(core.produce_purgatory))]
