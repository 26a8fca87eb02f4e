"""ControlledShutdown (key 7), versions 0–3, flexible from 3.

Tells the controller that a broker wants to stop. v0 has the short request header, without client id.
"""

from collections.abc import Sequence

from ..schema import array, int16, int32, int64, message, string, struct


@message(versions="0-3", flexible="3+")
class ControlledShutdownRequest:
    """The broker that stops."""

    broker_id: int = int32()
    broker_epoch: int = int64("2+", default=-1, ignorable=True)


@struct
class RemainingPartition:
    topic_name: str = string()
    partition_index: int = int32()


@message(versions="0-3", flexible="3+")
class ControlledShutdownResponse:
    """Partitions that it still leads."""

    error_code: int = int16()
    remaining_partitions: Sequence[RemainingPartition] = array(RemainingPartition)
