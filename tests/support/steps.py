"""One request of a script that is sent to two brokers, and what of their answers is compared."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from stepdown.protocol.schema import schema_of

TIMEOUT_MS = 30_000
UNCOMPARED = frozenset(
    (
        "error_message",
        "host",
        "port",
        "cluster_id",
        "log_dir",
        "total_bytes",
        "usable_bytes",
        "documentation",
        "finalized_features_epoch",
        "high_watermark",
        "log_end_offset",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
        "api_keys",
        "is_default",  # v0: Kafka since 3.0 says false of everything
        "synonyms",  # of the second and third name: see config/describe_configs.py
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A request and its version."""

    name: str
    request: Any
    version: int
    reads: bool = True


def each_version(
    name: str, request: Any | Callable[[int], Any], versions: Iterable[int], *, reads: bool = True
) -> Iterator[Step]:
    for version in versions:
        made = request(version) if callable(request) else request
        yield Step(name=f"{name} v{version}", request=made, version=version, reads=reads)


def comparable(value: Any) -> Any:
    """The value as plain dicts and lists; lists are ordered by content unless they hold numbers."""
    if hasattr(type(value), "__schema__"):
        names = (field.name for field in schema_of(type(value)).fields if field.name not in UNCOMPARED)
        return {name: comparable(getattr(value, name)) for name in names}
    if isinstance(value, list | tuple):
        items = [comparable(item) for item in value]
        return items if all(isinstance(item, int) for item in items) else sorted(items, key=_text)
    if isinstance(value, UUID):
        return "an id" if value.int else "no id"
    return value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
