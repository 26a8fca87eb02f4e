"""FindCoordinator (key 10), versions 0–6, flexible from 3.

Finds the broker that serves a group or a transactional id.

v0 knows groups only; v4 asks for several keys at once.
"""

from collections.abc import Sequence

from ..schema import array, int8, int16, int32, message, string, struct


@message(versions="0-6", flexible="3+")
class FindCoordinatorRequest:
    """The keys to look up."""

    key: str = string("0-3")
    key_type: int = int8("1+")
    coordinator_keys: Sequence[str] = array(string, "4+")


@struct
class Coordinator:
    key: str = string("4+")
    node_id: int = int32("4+")
    host: str = string("4+")
    port: int = int32("4+")
    error_code: int = int16("4+")
    error_message: str | None = string("4+", nullable="4+", ignorable=True)


@message(versions="0-6", flexible="3+")
class FindCoordinatorResponse:
    """The coordinator: flat up to v3, one per key from v4."""

    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16("0-3")
    error_message: str | None = string("1-3", nullable="1-3", ignorable=True)
    node_id: int = int32("0-3")
    host: str = string("0-3")
    port: int = int32("0-3")
    coordinators: Sequence[Coordinator] = array(Coordinator, "4+")
