"""A committed offset in `__consumer_offsets`: key versions 0 and 1 (the same bytes), value versions 0 to 4.

    key      version int16 | group string | topic string | partition int32
    value 0  version int16 | offset int64 | metadata string | commit timestamp int64
          1  as 0, then expire timestamp int64
          2  as 0
          3  offset int64 | leader epoch int32 | metadata string | commit timestamp int64
          4  as 3 with compact strings and tagged fields

Source: Kafka 3.9, OffsetCommitKey.json and OffsetCommitValue.json. A null value takes the offset away.
"""

from ..schema import int32, int64, message, string


@message(versions="0-1")
class OffsetCommitKey:
    """Whose offset, and of which partition."""

    group: str = string()
    topic: str = string()
    partition: int = int32()


@message(versions="0-4", flexible="4+")
class OffsetCommitValue:
    """The offset. `expire_timestamp` -1: by the group's retention."""

    offset: int = int64()
    leader_epoch: int = int32("3+", default=-1, ignorable=True)
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64("1", default=-1, ignorable=True)
