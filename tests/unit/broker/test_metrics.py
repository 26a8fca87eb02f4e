"""What a scrape shows of what happened."""

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from stepdown.broker.broker import Broker
from stepdown.broker.http.pages import pages_of
from stepdown.broker.instruments import CounterFamily, HistogramFamily
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from support.client import RawClient
from support.running import running_broker


async def scraped(broker: Broker) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = (await pages_of(broker)["/metrics"]()).body.decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def value(broker: Broker, name: str, **labels: str) -> float:
    return (await scraped(broker)).get((name, frozenset(labels.items())), 0.0)


async def test_requests_and_their_error_codes_are_counted(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        client = await RawClient.connect(broker.address.host, broker.address.port)
        await client.send(ApiVersionsRequest(), 0)
        nowhere = FetchTopic(topic="nowhere", partitions=(FetchPartition(partition=0, partition_max_bytes=1),))
        await client.send(FetchRequest(topics=(nowhere,)), 2)
        assert await value(broker, "stepdown_requests_total", request="ApiVersions", version="0") == 1
        unknown = {"request": "Fetch", "error": "UNKNOWN_TOPIC_OR_PARTITION"}
        assert await value(broker, "stepdown_request_errors_total", **unknown) == 1
        assert await value(broker, "stepdown_request_duration_seconds_count", request="Fetch", phase="local") == 1


def test_labels_from_outside_cannot_grow_without_bound() -> None:
    family = CounterFamily("clients", "", ("name",), limit=3)
    for at in range(10):
        family.of(f"client-{at}").add()
    samples = {
        sample.labels["name"]: sample.value for sample in family.collect().samples if sample.name.endswith("_total")
    }
    assert samples == {"client-0": 1, "client-1": 1, "client-2": 1, "other": 7}


def test_a_histogram_counts_at_or_below_its_bounds() -> None:
    family = HistogramFamily("times", "", (1.0, 10.0))
    for observed in (0.5, 1.0, 5.0, 100.0):
        family.observe(observed)
    buckets = {s.labels["le"]: s.value for s in family.collect().samples if s.name == "times_bucket"}
    assert buckets == {"1.0": 2, "10.0": 3, "+Inf": 4}
