"""Gauges of the log cleaner."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...network.metrics.instruments import GaugeRow

if TYPE_CHECKING:
    from ..core import Core
    from ..maintenance.log_cleaner import Cleaner


def register_cleaner_gauges(core: "Core", cleaner: "Cleaner") -> None:
    """Registers the gauges of the log cleaner, which have no value before its first round."""
    gauge = core.metrics.instruments.gauge
    gauge(
        "stepdown_cleaner_max_dirty_ratio",
        "Largest dirty ratio of a compacted log when the cleaner last looked",
        lambda: _rows_of(cleaner.max_dirty_ratio),
    )
    gauge(
        "stepdown_cleaner_idle_seconds",
        "Time since the cleaner last looked for work",
        lambda: _rows_of(cleaner.since_last_run_s),
    )
    gauge("stepdown_cleaner_active", "Logs that are being cleaned now", lambda: cleaner.active_count)
    gauge(
        "stepdown_cleaner_uncleanable_partitions",
        "Compacted logs whose cleaning failed, set aside until the next start (Kafka: `uncleanable-partitions-count`)",
        lambda: cleaner.uncleanable_count,
    )


def _rows_of(value: float | None) -> Iterable[GaugeRow]:
    return () if value is None else (((), value),)
