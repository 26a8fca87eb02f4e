"""AlterReplicaLogDirs (key 34), versions 0–2, flexible from 2.

Moves replicas between the log directories of one broker.
"""

from collections.abc import Sequence

from ..schema import array, int16, int32, message, string, struct


@struct
class AlterReplicaLogDirTopic:
    name: str = string()
    partitions: Sequence[int] = array(int32)


@struct
class AlterReplicaLogDir:
    path: str = string()
    topics: Sequence[AlterReplicaLogDirTopic] = array(AlterReplicaLogDirTopic)


@message(versions="0-2", flexible="2+")
class AlterReplicaLogDirsRequest:
    """Directories and the partitions to move there."""

    dirs: Sequence[AlterReplicaLogDir] = array(AlterReplicaLogDir)


@struct
class AlterReplicaLogDirPartitionResult:
    partition_index: int = int32()
    error_code: int = int16()


@struct
class AlterReplicaLogDirTopicResult:
    topic_name: str = string()
    partitions: Sequence[AlterReplicaLogDirPartitionResult] = array(AlterReplicaLogDirPartitionResult)


@message(versions="0-2", flexible="2+")
class AlterReplicaLogDirsResponse:
    """One error code per partition."""

    throttle_time_ms: int = int32()
    results: Sequence[AlterReplicaLogDirTopicResult] = array(AlterReplicaLogDirTopicResult)
