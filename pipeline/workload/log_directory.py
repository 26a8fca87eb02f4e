"""A workload straight into a log directory, of any magic, as a broker that keeps such logs would have written it.

Segments, indexes, checkpoints and the mark of a clean stop come from `storage`. A topic that is there goes on at its
end.
"""

from collections.abc import Callable
from uuid import UUID, uuid5

from ...protocol.errors import DiskFault
from ...protocol.records.record import Record
from ...storage.directories.log_manager import LogManager
from ...storage.files.clock import SystemClock
from ...storage.files.files import Files
from ...storage.log.log import Log
from ...storage.log.log_config import FOREVER, LogConfig
from ..failures import PipelineFailure
from ..writing.log_writer import BatchSettings, LogWriter
from .records import Workload

_TOPIC_IDS = UUID("6e0f3cbb-1c0b-4f0b-9d0a-3c7b8f1d5a52")


def write_log_directory(
    workload: Workload, directory: str, *, segment_bytes: int = 1 << 30, tell: Callable[[int], None] | None = None
) -> int:
    """Write the records and return the bytes that they take. `tell` gets the number of records written so far.

    Raises: PipelineFailure when the directory is in use by a broker, or cannot be written.
    """
    config = LogConfig(segment_bytes=segment_bytes, segment_ms=FOREVER, retention_ms=-1)
    try:
        log_manager = LogManager([directory], Files(), SystemClock(), config)
        try:
            return _write_records(workload, log_manager, tell)
        finally:
            log_manager.shutdown()
    except DiskFault as fault:
        raise PipelineFailure(str(fault)) from fault


def _write_records(workload: Workload, log_manager: LogManager, tell: Callable[[int], None] | None) -> int:
    batching = BatchSettings(magic=workload.magic, codec=workload.codec, batch_bytes=workload.batch_bytes)
    writers = [
        LogWriter(_get_or_create_log(log_manager, workload.topic, number), batching)
        for number in range(workload.partitions)
    ]
    written = 0
    for number in workload.chunk_numbers:
        for record in workload.make_chunk(number):
            writer = writers[record.partition]
            writer.add(
                Record(offset=writer.next_offset, timestamp=record.timestamp, key=record.key, value=record.value)
            )
            written += 1
        if tell is not None:
            tell(written)
    for writer in writers:
        writer.flush()
    return sum(writer.stored_bytes for writer in writers)


def _get_or_create_log(log_manager: LogManager, topic: str, partition: int) -> Log:
    """The partition's log. A topic's id follows from its name: the same workload gives the same directory."""
    found = log_manager.logs.get((topic, partition))
    return found or log_manager.create(topic, partition, uuid5(_TOPIC_IDS, topic))
