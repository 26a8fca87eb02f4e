"""Broker keys of metric reporters and client telemetry. Sources: Kafka 3.9 MetricConfigs, ClientMetricsConfigs."""

from __future__ import annotations

from ..keys.key import AT_START, BOOLEAN, CLUSTER, INT, LIST, LONG, STRING, inert
from ..keys.value_checks import AtLeast

KEYS = (
    *inert(
        "Metrics are served over HTTP to Prometheus.",
        ("auto.include.jmx.reporter", BOOLEAN, True, None, AT_START),
        ("kafka.metrics.polling.interval.secs", INT, 10, AtLeast(1), AT_START),
        ("kafka.metrics.reporters", LIST, (), None, AT_START),
        ("metric.reporters", LIST, (), None, CLUSTER),
        ("metrics.num.samples", INT, 2, AtLeast(1), AT_START),
        ("metrics.recording.level", STRING, "INFO", None, AT_START),
        ("metrics.sample.window.ms", LONG, 30_000, AtLeast(1), AT_START),
        ("telemetry.max.bytes", INT, 1_048_576, AtLeast(1), AT_START),
    ),
)
