"""Topics as groups of the consumer protocol find them."""

from pathlib import Path

from stepdown.broker.groups.consumer.topic_lookup import TopicLookup
from support.running import running_broker


async def test_expressions_are_held_against_internal_topics_too(tmp_path: Path) -> None:
    """Kafka 4 does so, and franz-go's tests rely on it; we left them out."""
    async with running_broker(tmp_path) as broker:
        await broker.topics.ensure("__consumer_offsets")
        await broker.topics.ensure("t")
        assert set(TopicLookup(broker.cluster).names()) == {"__consumer_offsets", "t"}
