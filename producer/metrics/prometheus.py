"""A producer's metrics for Prometheus: Kafka's names with `kafka_producer_` in front and `_` for `-`.

    record-send-total                kafka_producer_record_send_total{client_id="…"}               counter
    batch-split-rate                 kafka_producer_batch_split_rate{client_id="…"}                gauge
    byte-total of a topic            kafka_producer_topic_byte_total{client_id="…", topic="…"}     counter

Values that were not measured yet, NaN in Kafka, are left out. All producers of a registry share its families.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Protocol
from weakref import WeakKeyDictionary, WeakSet

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

PREFIX, TOPIC_PREFIX = "kafka_producer_", "kafka_producer_topic_"


class MeasuredProducer(Protocol):
    """The part of a producer that the collector uses. `closed`: whether the producer was closed."""

    @property
    def client_id(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def metrics(self) -> dict[str, float]: ...
    def topic_metrics(self) -> dict[str, dict[str, float]]: ...


class PrometheusCollector(Collector):
    """The producers of one registry; those that are closed are left out."""

    def __init__(self) -> None:
        self._producers: WeakSet[MeasuredProducer] = WeakSet()

    def add(self, producer: MeasuredProducer) -> None:
        self._producers.add(producer)

    def describe(self) -> Iterable[Metric]:
        """Nothing: names are only known once there are values."""
        return ()

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        running = [producer for producer in self._producers if not producer.closed]
        for producer in sorted(running, key=lambda each: each.client_id):
            for name, value in producer.metrics().items():
                _add_sample(families, PREFIX, name, {"client_id": producer.client_id}, value)
            for topic, values in producer.topic_metrics().items():
                for name, value in values.items():
                    _add_sample(families, TOPIC_PREFIX, name, {"client_id": producer.client_id, "topic": topic}, value)
        yield from families.values()


def _add_sample(
    families: dict[str, Metric], prefix: str, kafka_name: str, labels: dict[str, str], value: float
) -> None:
    if math.isnan(value):
        return
    name = prefix + kafka_name.replace("-", "_")
    family = families.get(name)
    if family is None:
        group = "producer-topic-metrics" if prefix == TOPIC_PREFIX else "producer-metrics"
        text = f"{kafka_name} of Kafka's group {group}."
        kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
        family = families[name] = kind(name, text)
    family.add_sample(name, labels, value)


_COLLECTORS: WeakKeyDictionary[CollectorRegistry, PrometheusCollector] = WeakKeyDictionary()
"""One for each registry, since two collectors may not export the same names."""


def register(producer: MeasuredProducer, registry: CollectorRegistry) -> None:
    """Adds the metrics of the producer to the registry."""
    collector = _COLLECTORS.get(registry)
    if collector is None:
        collector = _COLLECTORS[registry] = PrometheusCollector()
        registry.register(collector)
    collector.add(producer)
