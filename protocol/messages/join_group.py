"""JoinGroup (key 11), versions 0–9, flexible from 6: enters a classic consumer group.

v0 has no rebalance timeout: the session timeout counts for both. From v4 a member without id is given one and has to
ask again (KIP-394). v5 adds static membership; v8 a reason; v9 lets the leader skip assignment.
"""

from collections.abc import Sequence

from ..schema import array, binary, boolean, int16, int32, message, string, struct


@struct
class JoinGroupRequestProtocol:
    name: str = string()
    metadata: bytes = binary()


@message(versions="0-9", flexible="6+")
class JoinGroupRequest:
    """A member and the protocols it can follow."""

    group_id: str = string()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32("1+", default=-1, ignorable=True)
    member_id: str = string()
    group_instance_id: str | None = string("5+", nullable="5+", default=None)
    protocol_type: str = string()
    protocols: Sequence[JoinGroupRequestProtocol] = array(JoinGroupRequestProtocol)
    reason: str | None = string("8+", nullable="8+", default=None, ignorable=True)


@struct
class JoinGroupResponseMember:
    member_id: str = string()
    group_instance_id: str | None = string("5+", nullable="5+", default=None, ignorable=True)
    metadata: bytes = binary()


@message(versions="0-9", flexible="6+")
class JoinGroupResponse:
    """The generation; for the leader also all members."""

    throttle_time_ms: int = int32("2+", ignorable=True)
    error_code: int = int16()
    generation_id: int = int32(default=-1)
    protocol_type: str | None = string("7+", nullable="7+", default=None, ignorable=True)
    protocol_name: str | None = string(nullable="7+")
    leader: str = string()
    skip_assignment: bool = boolean("9+")
    member_id: str = string()
    members: Sequence[JoinGroupResponseMember] = array(JoinGroupResponseMember)
