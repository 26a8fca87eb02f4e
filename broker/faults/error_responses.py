"""Error codes in responses, where the schema of the API has them: in partitions, else in topics, else at the top."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from ...protocol.schema import schema_of
from .request_topics_and_groups import TopicName, arrays_of_structs, partition_of, topic_of

Meant = Callable[[str | None, int | None], bool]
"""Whether a topic and partition are meant."""

CODES = ("error_code", "partition_error_code")
BLANK = {
    "records": b"",
    "base_offset": -1,
    "high_watermark": -1,
    "last_stable_offset": -1,
    "log_start_offset": -1,
    "offset": -1,
    "committed_offset": -1,
}
"""Fields that have no value in an answer with an error."""


def with_error_code(
    item: Any, version: int, code: int, is_meant: Meant, topic_name: TopicName, *, whole_topics: bool = False
) -> Any:
    """A copy with the code in the innermost structs that have one; `whole_topics`: in topics, not in partitions."""
    return _with_error_code(item, version, code, is_meant, topic_name, whole_topics, None)


def _with_error_code(
    item: Any, version: int, code: int, is_meant: Meant, topic_name: TopicName, whole_topics: bool, topic: str | None
) -> Any:
    own = topic_of(item, topic_name) or topic
    inner = {
        name: tuple(_with_error_code(each, version, code, is_meant, topic_name, whole_topics, own) for each in items)
        for name, items in arrays_of_structs(item)
        if items and _has_codes(_hashable_type(items[0]), version) and not (whole_topics and own is not None)
    }
    if inner:
        return replace(item, **inner)
    if not _own_code_fields(_hashable_type(item), version) or not is_meant(own, partition_of(item)):
        return item
    blank: dict[str, Any] = {name: value for name, value in BLANK.items() if hasattr(item, name)}
    return replace(item, **blank, **dict.fromkeys(_own_code_fields(_hashable_type(item), version), code))


def error_codes_in(item: Any) -> set[int]:
    """All error codes of a response that are not 0."""
    found = {code for name in CODES if (code := getattr(item, name, 0))}
    for _, items in arrays_of_structs(item):
        for each in items:
            found |= error_codes_in(each)
    return found


def split_request(
    item: Any, is_meant: Meant, topic_name: TopicName, topic: str | None = None
) -> tuple[Any | None, Any | None]:
    """The request without the partitions that are meant, and with only them; None in place of an empty one."""
    rest: dict[str, Any] = {}
    part: dict[str, Any] = {}
    for name, items in arrays_of_structs(item):
        own = topic_of(item, topic_name) or topic
        halves = [_split_item(each, is_meant, topic_name, own) for each in items]
        rest[name] = tuple(one for one, _ in halves if one is not None)
        part[name] = tuple(other for _, other in halves if other is not None)
    left = replace(item, **rest) if any(rest.values()) else None
    taken = replace(item, **part) if any(part.values()) else None
    return left, taken


def _split_item(item: Any, is_meant: Meant, topic_name: TopicName, topic: str | None) -> tuple[Any | None, Any | None]:
    own = topic_of(item, topic_name) or topic
    index = partition_of(item)
    has_partitions = any(items and partition_of(items[0]) is not None for _, items in arrays_of_structs(item))
    if index is None and (has_partitions or own is None):
        return split_request(item, is_meant, topic_name, own)
    return (None, item) if is_meant(own, index) else (item, None)


def merge_responses(one: Any, other: Any) -> Any:
    """Joins the responses to the two halves of a split request into one."""
    if one is None or other is None:
        return one if other is None else other
    both = {name: (*items, *getattr(other, name)) for name, items in arrays_of_structs(one)}
    return replace(one, **both)


def _hashable_type(item: object) -> Hashable:
    found: Any = type(item)
    return cast(Hashable, found)


@lru_cache(1024)
def _own_code_fields(cls: Any, version: int) -> tuple[str, ...]:
    return tuple(field.name for field in schema_of(cls).fields if field.name in CODES and version in field.versions)


@lru_cache(1024)
def _has_codes(cls: Any, version: int) -> bool:
    """Whether the struct, or one inside of it, has an error code in that version."""
    if _own_code_fields(cls, version):
        return True
    inner = (
        field.element for field in schema_of(cls).fields if field.element is not None and version in field.versions
    )
    return any(_has_codes(element, version) for element in inner)
