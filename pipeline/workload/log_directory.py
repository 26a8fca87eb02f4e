"""A workload straight into a log directory, of any magic, as a broker that keeps such logs would have written it.

Segments, indexes, checkpoints and the mark of a clean stop come from `storage`. A topic that is there goes on at its
end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID, uuid5

from ...protocol.errors import DiskFault
from ...protocol.records.builder import build_batch
from ...protocol.records.record import Record
from ...storage.clock import SystemClock
from ...storage.files import Files
from ...storage.log import Log
from ...storage.log_config import FOREVER, LogConfig
from ...storage.log_dirs import LogDirs
from ..failures import PipelineFailure
from .plan import LoadRecord, Workload

_TOPIC_IDS = UUID("6e0f3cbb-1c0b-4f0b-9d0a-3c7b8f1d5a52")


@dataclass(slots=True)
class _Writer:
    """Gathers the records of one partition to batches and appends them. Magic 0 and 1 have no leader epochs."""

    log: Log
    workload: Workload
    waiting: list[Record] = field(default_factory=list)
    waiting_bytes: int = 0
    stored_bytes: int = 0

    def add(self, record: LoadRecord) -> None:
        offset = self.log.log_end_offset + len(self.waiting)
        size = len(record.value) + len(record.key or b"")
        if self.waiting and self.waiting_bytes + size > self.workload.batch_bytes:
            self.flush()
        self.waiting.append(Record(offset=offset, timestamp=record.timestamp, key=record.key, value=record.value))
        self.waiting_bytes += size

    def flush(self) -> None:
        if not self.waiting:
            return
        work = self.workload
        batch = build_batch(self.waiting, magic=work.magic, codec=work.codec, partition_leader_epoch=0)
        self.log.append_as_is(batch)
        self.stored_bytes += len(batch)
        self.waiting.clear()
        self.waiting_bytes = 0


def write_log_directory(
    workload: Workload, directory: str, *, segment_bytes: int = 1 << 30, tell: Callable[[int], None] | None = None
) -> int:
    """Write the records and return the bytes that they take. `tell` hears how many records are written so far.

    Raises: PipelineFailure when the directory is in use by a broker, or cannot be written.
    """
    config = LogConfig(segment_bytes=segment_bytes, segment_ms=FOREVER, retention_ms=-1)
    try:
        log_dirs = LogDirs([directory], Files(), SystemClock(), config)
        try:
            return _write(workload, log_dirs, tell)
        finally:
            log_dirs.shutdown()
    except DiskFault as fault:
        raise PipelineFailure(str(fault)) from fault


def _write(workload: Workload, log_dirs: LogDirs, tell: Callable[[int], None] | None) -> int:
    writers = [_Writer(_log(log_dirs, workload.topic, number), workload) for number in range(workload.partitions)]
    written = 0
    for number in workload.chunks:
        for record in workload.chunk(number):
            writers[record.partition].add(record)
            written += 1
        if tell is not None:
            tell(written)
    for writer in writers:
        writer.flush()
    return sum(writer.stored_bytes for writer in writers)


def _log(log_dirs: LogDirs, topic: str, partition: int) -> Log:
    """The partition's log. A topic's id follows from its name: the same workload gives the same directory."""
    found = log_dirs.logs.get((topic, partition))
    return found or log_dirs.create(topic, partition, uuid5(_TOPIC_IDS, topic))
