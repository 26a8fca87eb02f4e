"""What `/metrics` of a broker in the test's process shows."""

from typing import Any

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from stepdown.broker.broker import Broker
from stepdown.broker.http.pages import pages_of
from stepdown.network.metrics.instruments import FamilySnapshot
from stepdown.network.metrics.prometheus_families import make_metric


def metric_of(family: Any) -> Metric:
    """The family of prometheus-client with the current rows of one of `Instruments`."""
    return make_metric(FamilySnapshot(family.kind, family.name, family.help, family.labels, family.rows()))


async def scraped(broker: Broker) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Value by name and labels."""
    text = (await pages_of(broker, lambda: broker.is_ready)["/metrics"]()).body.decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def value(broker: Broker, name: str, **labels: str) -> float:
    """The value of one sample, 0 where there is none."""
    return (await scraped(broker)).get((name, frozenset(labels.items())), 0.0)
