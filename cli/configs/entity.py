"""The entities that have settings, as `KIND` or `KIND=NAME` on the command line.

topic=orders   broker=1   broker (all of them)   logger=1   group=billing   metrics=all-clients
user=alice   client=app   user=alice client=app   user (the default)   ip=10.0.0.7
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ...client.operations.configs import ConfigResource, ResourceKind
from ..support.failures import EXIT_BAD_USAGE, CommandFailure

RESOURCES = MappingProxyType(
    {
        "topic": ResourceKind.TOPIC,
        "broker": ResourceKind.BROKER,
        "logger": ResourceKind.BROKER_LOGGER,
        "group": ResourceKind.GROUP,
        "metrics": ResourceKind.CLIENT_METRICS,
    }
)
CLIENTS = MappingProxyType({"user": "user", "client": "client-id", "ip": "ip"})
"""The kinds that have quotas, with their entity types in requests."""
HINT = f"KIND=NAME, where KIND is {', '.join(RESOURCES)}, {', '.join(CLIENTS)}, as topic=orders."


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """Users, clients or addresses. `names`: entity type to name, or to None for the default of that type."""

    names: dict[str, str | None]


def parse_entity(texts: Sequence[str]) -> ConfigResource | QuotaEntity:
    """Returns the resource or quota entity that KIND=NAME texts stand for. Raises: CommandFailure."""
    named: dict[str, str | None] = {}
    for text in texts:
        kind, equals, name = text.partition("=")
        if kind not in (*RESOURCES, *CLIENTS):
            singular = kind.removesuffix("s")
            meant = f"; did you mean {singular}={name}?" if singular in (*RESOURCES, *CLIENTS) else ""
            meant = meant if equals else f"; a topic is topic={text}"
            if equals and {".", "_"} & {*kind}:
                raise CommandFailure(f"settings go after -c of `configs alter`: -c {text}", "", EXIT_BAD_USAGE)
            raise CommandFailure(f"{text!r} has no settings{meant}", HINT, EXIT_BAD_USAGE)
        if kind in named or (equals and not name):
            raise CommandFailure(f"{kind}: expected once, with one name", HINT, EXIT_BAD_USAGE)
        named[kind] = name if equals else None
    if all(kind in CLIENTS for kind in named):
        return QuotaEntity({CLIENTS[kind]: name for kind, name in named.items()})
    if len(named) > 1:
        raise CommandFailure(f"{' and '.join(named)} have no settings together", HINT, EXIT_BAD_USAGE)
    ((kind, found),) = named.items()
    return _parse_resource(kind, found)


def _parse_resource(kind: str, name: str | None) -> ConfigResource:
    if name is None and kind != "broker":
        raise CommandFailure(f"{kind}: which one?", HINT, EXIT_BAD_USAGE)
    if kind in ("broker", "logger") and name and not (name.isascii() and name.isdigit() and len(name) < 10):
        raise CommandFailure(f"{kind}: expected the id of a broker, found {name!r}", "", EXIT_BAD_USAGE)
    return ConfigResource(RESOURCES[kind], name or "")
