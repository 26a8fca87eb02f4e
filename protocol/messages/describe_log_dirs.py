"""DescribeLogDirs (key 35), versions 0–4, flexible from 2.

Shows log directories and the partitions in them. v3 adds an error for all, v4 total and usable bytes.
"""

from collections.abc import Sequence

from ..schema import array, boolean, int16, int32, int64, message, string, struct


@struct
class DescribableLogDirTopic:
    topic: str = string()
    partitions: Sequence[int] = array(int32)


@message(versions="0-4", flexible="2+")
class DescribeLogDirsRequest:
    """Partitions to show (null: all)."""

    topics: Sequence[DescribableLogDirTopic] | None = array(DescribableLogDirTopic, nullable="0+")


@struct
class DescribeLogDirsPartition:
    partition_index: int = int32()
    partition_size: int = int64()
    offset_lag: int = int64()
    is_future_key: bool = boolean()


@struct
class DescribeLogDirsTopic:
    name: str = string()
    partitions: Sequence[DescribeLogDirsPartition] = array(DescribeLogDirsPartition)


@struct
class DescribeLogDirsResult:
    error_code: int = int16()
    log_dir: str = string()
    topics: Sequence[DescribeLogDirsTopic] = array(DescribeLogDirsTopic)
    total_bytes: int = int64("4+", default=-1, ignorable=True)
    usable_bytes: int = int64("4+", default=-1, ignorable=True)


@message(versions="0-4", flexible="2+")
class DescribeLogDirsResponse:
    """One result per directory."""

    throttle_time_ms: int = int32()
    error_code: int = int16("3+", ignorable=True)
    results: Sequence[DescribeLogDirsResult] = array(DescribeLogDirsResult)
