"""A classic group in `__consumer_offsets`: key version 2, value versions 0 to 4 (Kafka 3.9 writes 3).

    key    version int16 = 2 | group string
    value  version int16 | protocol type string | generation int32 | protocol nullable string | leader nullable string |
           current state timestamp int64 (2+) | members array of
               member id string | group instance id nullable string (3+) | client id string | client host string |
               rebalance timeout int32 (1+) | session timeout int32 | subscription bytes | assignment bytes

Source: Kafka 3.9, GroupMetadataKey.json and GroupMetadataValue.json. A null value takes the group away.
"""

from collections.abc import Sequence

from ..schema import array, binary, int32, int64, message, string, struct


@message(versions="2")
class GroupMetadataKey:
    """Which group."""

    group: str = string("2")


@struct
class MemberMetadata:
    """One member of the generation that was stored. `rebalance_timeout` -1: the same as the session timeout."""

    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None, ignorable=True)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32("1+", default=-1, ignorable=True)
    session_timeout: int = int32()
    subscription: bytes = binary()
    assignment: bytes = binary()


@message(versions="0-4", flexible="4+")
class GroupMetadataValue:
    """The generation and its members; none: the group is empty."""

    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(nullable="0+")
    leader: str | None = string(nullable="0+")
    current_state_timestamp: int = int64("2+", default=-1, ignorable=True)
    members: Sequence[MemberMetadata] = array(MemberMetadata)
