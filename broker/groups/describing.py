"""Groups as DescribeGroups shows them."""

from ...protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from .classic_group import ClassicGroup
from .classic_member import ClassicMember
from .classic_states import State


def describe_classic(group: ClassicGroup, operations: int) -> DescribedGroup:
    """State and members; what the members agreed on only while the group is Stable."""
    is_stable = group.state is State.STABLE
    protocol = group.protocol_name if is_stable else None
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=tuple(_member(member, protocol) for member in group.members.values()),
        authorized_operations=operations,
    )


def _member(member: ClassicMember, protocol: str | None) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=b"" if protocol is None else member.metadata(protocol),
        member_assignment=b"" if protocol is None else member.assignment,
    )


def unknown_classic(group_id: str, operations: int) -> DescribedGroup:
    """A group that there is not is a dead one."""
    return DescribedGroup(group_id=group_id, group_state=State.DEAD.value, authorized_operations=operations)
