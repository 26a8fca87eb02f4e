"""All groups, by id."""

from collections.abc import Iterator

from ...protocol.errors import ApiError, ErrorCode
from .classic.group import ClassicGroup
from .consumer.group import ConsumerGroup

Group = ClassicGroup | ConsumerGroup


class GroupRegistry:
    """The groups of one broker."""

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}

    def __iter__(self) -> Iterator[Group]:
        return iter(tuple(self._groups.values()))

    def __len__(self) -> int:
        return len(self._groups)

    def find(self, group_id: str) -> Group | None:
        return self._groups.get(group_id)

    def get(self, group_id: str, absent: ErrorCode = ErrorCode.GROUP_ID_NOT_FOUND) -> Group:
        """The group. Raises ApiError `absent`."""
        group = self._groups.get(group_id)
        if group is None:
            raise ApiError(f"there is no group {group_id!r}", absent)
        return group

    def put(self, group: Group) -> None:
        self._groups[group.group_id] = group

    def remove(self, group_id: str) -> Group | None:
        return self._groups.pop(group_id, None)

    def find_or_make_for_offsets(self, group_id: str, now_ms: int | None) -> Group:
        """Returns the group; makes one without members when offsets are committed for an unknown group."""
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = ClassicGroup(group_id, state_since_ms=now_ms)
        return group
