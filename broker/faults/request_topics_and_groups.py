"""What a request is about: its group or transactional id, its topics and partitions, found by its schema."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from ...protocol.schema import schema_of

TOPIC_FIELDS = ("name", "topic", "topic_name")
PARTITION_FIELDS = ("index", "partition_index", "partition")
PARTITION_LISTS = ("partitions", "partition_indexes")
GROUP_FIELDS = ("group_id", "transactional_id", "v3_and_below_transactional_id", "key")
GROUP_LISTS = ("groups", "groups_names", "group_ids", "coordinator_keys", "transactional_ids", "transactions")

NO_TOPICS = frozenset({"forgotten_topics_data", "protocols", "configs", "deletions", "upsertions", "users"})
"""Arrays whose names are those of topics no longer read, of assignors, settings or users."""

TopicName = Callable[[UUID], str | None]
Place = tuple[str, int | None]


def groups_of(request: Any) -> set[str]:
    """The groups and transactional ids that a request names."""
    found = {getattr(request, name) for name in GROUP_FIELDS if hasattr(request, name)}
    for name in GROUP_LISTS:
        for each in getattr(request, name, None) or ():
            found.update([each] if isinstance(each, str) else (getattr(each, field, None) for field in GROUP_FIELDS))
    return {name for name in found if isinstance(name, str)}


def names_groups(request: type) -> bool:
    """Whether requests of that class name groups or transactional ids."""
    return any(field.name in (*GROUP_FIELDS, *GROUP_LISTS) for field in schema_of(request).fields)


def names_topics(request: type) -> bool:
    """Whether requests of that class name topics."""
    inner = [field for field in schema_of(request).fields if field.element is not None]
    return any("topic" in field.name or names_topics(field.element) for field in inner if field.element is not None)


def topics_and_partitions_of(request: Any, topic_name: TopicName) -> Iterator[Place]:
    """The topics that a request names, with the partitions of each; None where it is about the topic as a whole."""
    for name, items in arrays_of_structs(request):
        if name in NO_TOPICS:
            continue
        for item in items:
            topic = topic_of(item, topic_name)
            if topic is None:
                yield from topics_and_partitions_of(item, topic_name)
                continue
            partitions = list(_partitions_of(item))
            if partitions:
                yield from ((topic, partition) for partition in partitions)
            else:
                yield topic, None


def topic_of(item: Any, topic_name: TopicName) -> str | None:
    """The topic that a struct is about."""
    for name in TOPIC_FIELDS:
        value = getattr(item, name, None)
        if isinstance(value, str) and value:
            return value
    topic_id = getattr(item, "topic_id", None)
    return topic_name(topic_id) if isinstance(topic_id, UUID) and topic_id.int else None


def partition_of(item: Any) -> int | None:
    """The partition that a struct is about."""
    for name in PARTITION_FIELDS:
        value = getattr(item, name, None)
        if isinstance(value, int):
            return value
    return None


def arrays_of_structs(item: Any) -> Iterator[tuple[str, Any]]:
    """The fields that hold structs."""
    for field in schema_of(type(item)).fields:
        value = getattr(item, field.name)
        if field.element is not None and isinstance(value, list | tuple):
            yield field.name, value


def _partitions_of(topic: Any) -> Iterator[int]:
    for field in schema_of(type(topic)).fields:
        value = getattr(topic, field.name)
        if not isinstance(value, list | tuple):
            continue
        if field.element is not None:
            yield from (index for index in map(partition_of, value) if index is not None)
        elif field.name in PARTITION_LISTS:
            yield from value
