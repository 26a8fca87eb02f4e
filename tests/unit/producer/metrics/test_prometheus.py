"""A producer's metrics in a Prometheus registry."""

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from support.producing import producing


def told(registry: CollectorRegistry) -> dict[tuple[str, str], float]:
    """(name, labels) to value."""
    text = generate_latest(registry).decode()
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families)
    return {
        (sample.name, ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


async def test_kafkas_metrics_are_told_by_client_and_topic() -> None:
    registry = CollectorRegistry(auto_describe=True)
    async with producing(client_id="one") as first, producing(client_id="two") as second:
        for stage in (first, second):
            stage.producer.register_metrics(registry)
        delivery = first.producer.send("t", b"value")
        [asked] = await first.produced()
        asked.answer()
        await delivery
        values = told(registry)
        assert values["kafka_producer_record_send_total", "client_id=one"] == 1
        assert values["kafka_producer_record_send_total", "client_id=two"] == 0
        assert values["kafka_producer_topic_record_send_total", "client_id=one,topic=t"] == 1
        assert values["kafka_producer_batch_size_avg", "client_id=one"] > 61
        assert ("kafka_producer_batch_size_avg", "client_id=two") not in values
        assert values["kafka_producer_buffer_total_bytes", "client_id=two"] == 33554432


async def test_a_producer_that_is_closed_is_told_of_no_more() -> None:
    registry = CollectorRegistry()
    async with producing(client_id="gone") as stage:
        stage.producer.register_metrics(registry)
        assert told(registry)
    assert not told(registry)


async def test_names_of_counters_and_gauges_are_kept_apart() -> None:
    registry = CollectorRegistry()
    async with producing() as stage:
        stage.producer.register_metrics(registry)
        text = generate_latest(registry).decode()
    assert "# TYPE kafka_producer_batch_split_total counter" in text
    assert "# TYPE kafka_producer_batch_split_rate gauge" in text
    assert "# TYPE kafka_producer_txn_commit_time_ns_total counter" in text
