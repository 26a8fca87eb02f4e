"""DescribeLogDirs, versions 0-4 (KIP-113, 827): log directories, and the size of each partition in them.

Version notes: v3 has an error of its own; v4 tells the size of the file system and what is free. Sizes are those of
the segment files, without indexes. Partitions that are not here are left out.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from ...network.turn import Turn
from ...protocol.errors import ApiError, DiskFault
from ...protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from ...storage.directories.log_move import LogMove
from ...storage.log.log import Log
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: DescribeLogDirsRequest, call: Call) -> DescribeLogDirsResponse:
    logs, offline = services.log_manager.logs, services.log_manager.offline
    asked: Collection[tuple[str, int]] = tuple(logs)
    if request.topics is not None:
        asked = dict.fromkeys((topic.topic, index) for topic in request.topics for index in topic.partitions)
    by_directory: dict[str, list[Log]] = {path: [] for path in services.log_manager.directories}
    for key in asked:
        found = logs.get(key)
        if found is not None:
            by_directory.setdefault(found.directory.rpartition("/")[0], []).append(found)
        await call.turn.next()
    moves = [move for move in services.topics.moves.moves_under_way() if (move.log.topic, move.log.partition) in asked]
    return DescribeLogDirsResponse(
        results=[
            await _describe_directory(
                services, path, found, [move for move in moves if move.destination == path], call.turn
            )
            for path, found in by_directory.items()
            if path not in offline
        ]
        + [DescribeLogDirsResult(error_code=fault.code, log_dir=path) for path, fault in offline.items()]
    )


def refuse(request: DescribeLogDirsRequest, error: ApiError, call: Call) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(error_code=error.code)


async def _describe_directory(
    services: "Services", path: str, logs: Iterable[Log], moves: Iterable[LogMove], turn: Turn
) -> DescribeLogDirsResult:
    try:
        total_bytes, usable_bytes = services.log_manager.files.total_and_usable_bytes(path)
    except DiskFault as fault:
        return DescribeLogDirsResult(error_code=fault.code, log_dir=path)
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for found in logs:
        topics.setdefault(found.topic, []).append(
            DescribeLogDirsPartition(
                partition_index=found.partition,
                partition_size=found.size_bytes,
                offset_lag=_offset_lag(services, found),
            )
        )
        await turn.next()
    for move in moves:
        topics.setdefault(move.log.topic, []).append(_describe_future_replica(move))
    return DescribeLogDirsResult(
        log_dir=path,
        topics=[DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
    )


def _describe_future_replica(move: LogMove) -> DescribeLogDirsPartition:
    """A partition that is being moved here."""
    return DescribeLogDirsPartition(
        partition_index=move.log.partition,
        partition_size=move.copied_bytes,
        offset_lag=move.log.log_end_offset - move.copied_end,
        is_future_key=True,
    )


def _offset_lag(services: "Services", found: Log) -> int:
    """How far the log ends below the high watermark."""
    topic = services.cluster.topics.get(found.topic)
    partition = None if topic is None else topic.partitions.get(found.partition)
    return 0 if partition is None else max(partition.high_watermark - found.log_end_offset, 0)
