"""The views of topics, and of a topic's partitions."""

from typing import TYPE_CHECKING, Any

from ...config.describe_configs import describe_topic
from ...config.layered_values import Source
from ...network.page.page_query import PageQuery
from ...network.page.row_window import take_window
from ...network.turn import Turn
from ...protocol.errors import ApiError, ErrorCode
from ..metadata.image import Topic
from ..metadata.partition import Partition

if TYPE_CHECKING:
    from ..services import Services

MOST_VALUE = 200
"""Characters of a setting."""


async def show_topics(services: "Services", query: PageQuery) -> dict[str, Any]:
    """Topics after `after` whose name has `contains`; `internal=true` shows the broker's own. Raises: QueryFault."""
    topics = services.cluster.topics
    part, shows_internal = query.text("contains"), query.flag("internal")
    turn = services.turns.begin()

    def is_wanted(name: str) -> bool:
        topic = topics.get(name)
        return part in name and topic is not None and (shows_internal or not topic.is_internal)

    window = await take_window(tuple(topics), query.text("after") or None, query.limit, turn, is_wanted)
    there = [topic for name in window.keys if (topic := topics.get(name)) is not None]
    return window.document([await _make_row(services, topic, turn) for topic in there])


async def _make_row(services: "Services", topic: Topic, turn: Turn) -> dict[str, Any]:
    size = offsets = leaderless = under_replicated = 0
    for partition in tuple(topic.partitions.values()):
        leaderless += services.cluster.leader_of(partition) < 0
        under_replicated += len(partition.isr) < len(partition.replicas)
        if partition.is_here:
            size += partition.log.size_bytes
            offsets += partition.log.log_end_offset - partition.log.log_start_offset
        await turn.next()
    settings = topic.settings
    return {
        "name": topic.name,
        "id": str(topic.topic_id),
        "is_internal": topic.is_internal,
        "partitions": len(topic.partitions),
        "replicas": len(topic.partitions[0].replicas) if 0 in topic.partitions else 0,
        "size_bytes": size,
        "offsets": offsets,
        "retention_ms": settings.retention_ms,
        "retention_bytes": settings.retention_bytes,
        "cleanup_policy": list(settings.cleanup_policy),
        "settings_unknown": settings.stepdown_settings_unknown,
        "leaderless": leaderless,
        "under_replicated": under_replicated,
    }


async def show_partitions(services: "Services", query: PageQuery) -> dict[str, Any]:
    """The partitions of `topic` after `after`, and its settings.

    Raises: QueryFault, ApiError UNKNOWN_TOPIC_OR_PARTITION.
    """
    name = query.need("topic")
    topic = services.cluster.topics.get(name)
    if topic is None:
        raise ApiError(f"there is no topic {name}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    after = query.number("after", -1, least=-1)
    window = await take_window(tuple(topic.partitions), after, query.limit, services.turns.begin())
    rows = [_describe(services, topic.partitions[index]) for index in window.keys if index in topic.partitions]
    return window.document(rows) | {"settings": _list_settings(services, topic)}


def _list_settings(services: "Services", topic: Topic) -> list[dict[str, Any]]:
    """What differs from the default, or was set to it, and where that was done."""
    return [
        {"name": row.name, "value": (row.value or "")[:MOST_VALUE], "source": row.source.name}
        for row in describe_topic(services.topics.configuration.layers, topic.overrides)
        if row.source is not Source.DEFAULT
    ]


def _describe(services: "Services", partition: Partition) -> dict[str, Any]:
    row: dict[str, Any] = {
        "partition": partition.index,
        "leader": services.cluster.leader_of(partition),
        "leader_epoch": partition.leader_epoch,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "is_here": partition.is_here,
    }
    if partition.is_here:
        log = partition.log
        row |= {
            "start_offset": log.log_start_offset,
            "end_offset": log.log_end_offset,
            "high_watermark": partition.high_watermark,
            "last_stable_offset": partition.last_stable_offset,
            "size_bytes": log.size_bytes,
            "segments": len(log.segments),
            "is_offline": log.is_offline,
        }
    return row
