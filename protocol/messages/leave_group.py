"""LeaveGroup (key 13), versions 0–5, flexible from 4: leaves a classic group. v3+ takes several members at once."""

from collections.abc import Sequence

from ..schema import array, int16, int32, message, string, struct


@struct
class MemberIdentity:
    member_id: str = string("3+")
    group_instance_id: str | None = string("3+", nullable="3+", default=None)
    reason: str | None = string("5+", nullable="5+", default=None, ignorable=True)


@message(versions="0-5", flexible="4+")
class LeaveGroupRequest:
    """Who leaves."""

    group_id: str = string()
    member_id: str = string("0-2")
    members: Sequence[MemberIdentity] = array(MemberIdentity, "3+")


@struct
class MemberResponse:
    member_id: str = string("3+")
    group_instance_id: str | None = string("3+", nullable="3+")
    error_code: int = int16("3+")


@message(versions="0-5", flexible="4+")
class LeaveGroupResponse:
    """How that went, per member from v3."""

    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16()
    members: Sequence[MemberResponse] = array(MemberResponse, "3+")
