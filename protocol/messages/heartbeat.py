"""Heartbeat (key 12), versions 0–4, flexible from 4.

Keeps a member of a classic group alive. v3 adds the group instance id.
"""

from ..schema import int16, int32, message, string


@message(versions="0-4", flexible="4+")
class HeartbeatRequest:
    """A sign of life."""

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None)


@message(versions="0-4", flexible="4+")
class HeartbeatResponse:
    """Whether the member still belongs."""

    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16()
