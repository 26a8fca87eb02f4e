"""The views of groups, of a group's members, and of its offsets with their lag."""

from typing import TYPE_CHECKING, Any

from ...network.page.page_query import PageQuery, QueryFault
from ...network.page.row_window import take_window
from ...network.turn import Turn
from ...protocol.coordinator.consumer_protocol import partitions_in_assignment
from ...protocol.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from ..groups.coordinator import GroupCoordinator
    from ..groups.group_registry import Group
    from ..services import Services

MOST_LAGS = 10_000
"""The most partitions of all groups in one answer; groups after them show no partitions and no lag."""
MOST_ASSIGNED = 200
"""The most partitions of a member that are named; their count is always shown."""
Assigned = list[tuple[str, int]]


async def show_groups(services: "Services", query: PageQuery) -> dict[str, Any]:
    """Groups after `after` whose id has `contains`. Raises: QueryFault."""
    coordinator = services.groups_in_use
    part, turn = query.text("contains"), services.turns.begin()
    ids = () if coordinator is None else tuple(group.group_id for group in coordinator.groups)
    window = await take_window(ids, query.text("after") or None, query.limit, turn, lambda name: part in name)
    rows = []
    left = MOST_LAGS
    for name in window.keys:
        group = coordinator.groups.find(name) if coordinator is not None else None
        if group is not None and coordinator is not None:
            partitions = lag = None
            if left > 0:
                partitions = len(await _list_partitions(services, coordinator, group, turn))
                left -= partitions
            if left >= 0 and partitions is not None and coordinator.offsets_of_group(name):
                lag = await _sum_lag(services, coordinator, name, turn)
            rows.append(_summarize(group) | {"partitions": partitions, "lag": lag})
    return window.document(rows)


async def show_group(services: "Services", query: PageQuery) -> dict[str, Any]:
    """The group `id`, and its members after `after`. Raises: QueryFault, ApiError GROUP_ID_NOT_FOUND."""
    _, group = _find_group(services, query)
    turn = services.turns.begin()
    window = await take_window(tuple(group.members), query.text("after") or None, query.limit, turn)
    rows = []
    for member_id in window.keys:
        if member_id in group.members:
            rows.append(_describe_member(services, group, member_id))
        await turn.next()
    return _summarize(group) | window.document(rows)


async def show_offsets(services: "Services", query: PageQuery) -> dict[str, Any]:
    """The partitions that the group `id` has committed or been assigned, after `after`.

    Raises: QueryFault, ApiError.
    """
    coordinator, group = _find_group(services, query)
    after, turn = _read_partition(query.text("after")), services.turns.begin()
    places = await _list_partitions(services, coordinator, group, turn)
    window = await take_window(tuple(places), after, query.limit, turn)
    rows = []
    for topic, index in window.keys:
        found = coordinator.offsets.find(group.group_id, topic, index)
        end = _find_end_offset(services, topic, index)
        rows.append(
            {
                "topic": topic,
                "partition": index,
                "offset": None if found is None else found.offset,
                "end_offset": end,
                "lag": None if end is None or found is None else max(0, end - found.offset),
                "metadata": "" if found is None else found.metadata,
                "commit_ms": -1 if found is None else found.commit_ms,
            }
        )
    return window.document(rows, lambda key: f"{key[0]}-{key[1]}")


async def _list_partitions(
    services: "Services", coordinator: "GroupCoordinator", group: "Group", turn: Turn
) -> dict[tuple[str, int], None]:
    """The partitions that the group has committed or been assigned."""
    places = dict.fromkeys(coordinator.offsets_of_group(group.group_id))
    for member_id in tuple(group.members):
        if member_id in group.members:
            places |= dict.fromkeys(_list_assignment(services, group, member_id))
        await turn.next()
    return places


def _find_group(services: "Services", query: PageQuery) -> "tuple[GroupCoordinator, Group]":
    name, coordinator = query.need("id"), services.groups_in_use
    if coordinator is None:
        raise ApiError(f"there is no group {name!r}", ErrorCode.GROUP_ID_NOT_FOUND)
    return coordinator, coordinator.groups.get(name)


def _read_partition(text: str) -> tuple[str, int] | None:
    """A topic and a partition, written as `orders-3`; None for "". Raises: QueryFault."""
    if not text:
        return None
    topic, _, index = text.rpartition("-")
    if not topic or not index.isdecimal() or not index.isascii() or len(index) > 10:
        raise QueryFault("after is a partition such as orders-3")
    return topic, int(index)


def _summarize(group: "Group") -> dict[str, Any]:
    return {
        "id": group.group_id,
        "type": group.type_name,
        "protocol_type": group.protocol_type or "",
        "state": group.state_name,
        "epoch": _read_epoch(group),
        "members": len(group.members),
    }


def _read_epoch(group: "Group") -> int:
    from ..groups.classic.group import ClassicGroup  # loaded with the first group

    return group.generation if isinstance(group, ClassicGroup) else group.epoch


def _describe_member(services: "Services", group: "Group", member_id: str) -> dict[str, Any]:
    member = group.members[member_id]
    assigned = _list_assignment(services, group, member_id)
    return {
        "member_id": member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host.removeprefix("/"),
        "assigned_count": len(assigned),
        "assigned": [f"{topic}-{index}" for topic, index in sorted(assigned[:MOST_ASSIGNED])],
    }


def _list_assignment(services: "Services", group: "Group", member_id: str) -> Assigned:
    from ..groups.classic.group import ClassicGroup  # loaded with the first group

    if isinstance(group, ClassicGroup):
        return partitions_in_assignment(group.protocol_type or "", group.members[member_id].assignment)
    found: Assigned = []
    for topic_id, indexes in group.members[member_id].assigned.items():
        topic = services.cluster.topic_of(topic_id)
        if topic is not None:
            found += [(topic.name, index) for index in indexes]
    return found


async def _sum_lag(services: "Services", coordinator: "GroupCoordinator", group_id: str, turn: Turn) -> int:
    total = 0
    for (topic, index), found in tuple(coordinator.offsets_of_group(group_id).items()):
        end = _find_end_offset(services, topic, index)
        total += 0 if end is None else max(0, end - found.offset)
        await turn.next()
    return total


def _find_end_offset(services: "Services", topic: str, index: int) -> int | None:
    """The high watermark; None where this broker has no replica."""
    found = services.cluster.topics.get(topic)
    partition = None if found is None else found.partitions.get(index)
    return partition.high_watermark if partition is not None and partition.is_here else None
