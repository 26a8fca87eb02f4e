"""What `/metrics` of a broker in the test's process shows."""

from prometheus_client.parser import text_string_to_metric_families
from stepdown.broker.broker import Broker
from stepdown.broker.http.pages import pages_of


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
