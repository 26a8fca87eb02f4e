"""Converts one segment to another magic: reads, counts, converts, writes under a temporary name, syncs, renames.

What is being written has the names a broker's cleaner gives its unfinished copies (`.cleaned`), which brokers delete
when they start. The `.log` is renamed last: where it is, the segment is finished. A note beside it keeps what was
counted until the manifest has it. For an object store the same is done in a temporary folder, whose files are then put.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from ...protocol.errors import ApiError, UnsupportedCompression
from ...protocol.records import kernel
from ...protocol.records.batch_header import batch_headers_in
from ...protocol.records.columns import ColumnFiller, WantedRows
from ...protocol.records.conversion.down import convert_down
from ...protocol.records.layout import LOG_OVERHEAD, MAGIC_V2, Codec
from ...protocol.records.record import Buffer
from ...storage.compaction.segment_replacement import CleanedSegment
from ...storage.files.file_names import CLEANED, LOG, OFFSET_INDEX, TIME_INDEX, segment_file_path
from ...storage.files.files import Files
from ...storage.log.log_config import LogConfig
from ..failures import PipelineFailure
from ..places.object_files import ObjectFiles
from ..places.place_files import PlaceFiles
from ..reading.segment_location import SegmentFile
from ..reading.split_rows import allocate_without_clearing
from .up_conversion import convert_chunk_up

CHUNK_BYTES = 128 * 1024
WINDOW_BYTES = 1 << 20
NOTE = ".converted"
MAX_NOTE_BYTES = 1 << 16
_CONFIG = LogConfig()
_IN_ORDER = (OFFSET_INDEX, TIME_INDEX, LOG)
"""In which order the files of a segment come to be there: with the last one it is finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionTask:
    """A segment to convert into the partition's folder `target`. `recompress` is what zstd becomes below magic 2.

    `store` are options of the object stores that source and target may be in.
    """

    topic: str
    partition: int
    base_offset: int
    segment: SegmentFile
    target: str
    magic: int
    recompress: Codec | None = None
    store: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def key(self) -> tuple[str, int, int]:
        return self.topic, self.partition, self.base_offset


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOutcome:
    """The result for one segment. `records` and `batches` are those written; the other counts are of what was lost."""

    topic: str
    partition: int
    segment: int
    bytes_in: int
    bytes_out: int
    records: int
    batches: int
    sha256: str
    headers: int = 0
    producer_batches: int = 0
    control_batches: int = 0
    timestamps: int = 0
    cpu_s: float = 0.0

    @property
    def key(self) -> tuple[str, int, int]:
        return self.topic, self.partition, self.segment


def convert_segment(task: ConversionTask) -> SegmentOutcome:
    """Convert one segment; its files are in place and on the disk when this returns.

    Raises: PipelineFailure naming file, position and reason.
    """
    began = process_time()
    places = PlaceFiles(task.store, writable=True)
    store = places.files_for(task.target)
    if isinstance(store, ObjectFiles):
        with TemporaryDirectory() as folder:
            outcome = _convert_to(places, task, folder, began)
            _write_note(places, task, outcome)
            for suffix in _IN_ORDER:
                store.upload(
                    segment_file_path(task.target, task.base_offset, suffix), _temporary_path(folder, task, suffix)
                )
        return outcome
    places.make_directory(task.target)
    outcome = _convert_to(places, task, task.target, began)
    _write_note(places, task, outcome)
    for suffix in _IN_ORDER:
        store.rename(
            _temporary_path(task.target, task, suffix), segment_file_path(task.target, task.base_offset, suffix)
        )
    store.sync_directory(task.target)
    return outcome


def _convert_to(places: PlaceFiles, task: ConversionTask, folder: str, began: float) -> SegmentOutcome:
    """Convert into `.cleaned` files of a local folder."""
    conversion = _SegmentConverter(places, task, folder)
    try:
        conversion.run()
    except ApiError as error:
        advice = "; --recompress CODEC converts it" if isinstance(error, UnsupportedCompression) else ""
        raise PipelineFailure(f"{task.segment.path}: position {conversion.position}: {error}{advice}") from error
    return conversion.make_outcome(process_time() - began)


def _write_note(places: PlaceFiles, task: ConversionTask, outcome: SegmentOutcome) -> None:
    """Write the note, which speaks of the `.log` beside it: one of an earlier conversion goes first."""
    places.remove(segment_file_path(task.target, task.base_offset, LOG))
    places.replace(segment_file_path(task.target, task.base_offset, NOTE), json.dumps(asdict(outcome)).encode())


def _temporary_path(folder: str, task: ConversionTask, suffix: str) -> str:
    return segment_file_path(folder, task.base_offset, suffix) + CLEANED


def read_note(files: PlaceFiles, task: ConversionTask) -> SegmentOutcome | None:
    """What a former run noted of this segment if it finished it."""
    note = files.read_whole(segment_file_path(task.target, task.base_offset, NOTE), MAX_NOTE_BYTES)
    if note is None or not files.exists(segment_file_path(task.target, task.base_offset, LOG)):
        return None
    return SegmentOutcome(**json.loads(note))


class _SegmentConverter:
    """The steps of one segment. `position` is where in the source it is."""

    def __init__(self, places: PlaceFiles, task: ConversionTask, folder: str) -> None:
        self._places = places
        self._task = task
        self._out = bytearray(0)
        self._sha = hashlib.sha256()
        self._written = CleanedSegment.begin(Files(), folder, task.base_offset, 0)
        self._counts = dict.fromkeys(
            ("records", "batches", "headers", "producer_batches", "control_batches", "timestamps"), 0
        )
        self.position = task.segment.start

    def run(self) -> None:
        for chunk in self._chunks():
            self._count_losses(chunk)
            self._append(self._convert(chunk))
            self.position += len(chunk)
        self._written.complete(self._places.mtime_ms(self._task.segment.path))

    def make_outcome(self, cpu_s: float) -> SegmentOutcome:
        task = self._task
        return SegmentOutcome(
            topic=task.topic,
            partition=task.partition,
            segment=task.base_offset,
            bytes_in=task.segment.bytes_to_read,
            bytes_out=self._written.size,
            sha256=self._sha.hexdigest(),
            cpu_s=cpu_s,
            **self._counts,
        )

    def _chunks(self) -> Iterator[memoryview]:
        """Yield whole batches of about `CHUNK_BYTES`; a torn one ends the newest segment."""
        segment = self._task.segment
        source = segment.open(self._places)
        wanted = WINDOW_BYTES
        try:
            while self.position < segment.size_bytes:
                window = memoryview(source.read(min(wanted, segment.size_bytes - self.position), self.position))
                at = 0
                while size := kernel.plan_chunk(window[at:], self._task.magic, CHUNK_BYTES)[0]:
                    yield window[at : at + size]
                    at += size
                wanted = WINDOW_BYTES if at else self._window_bytes_for_next_batch(window)
                if not wanted:
                    return
        finally:
            source.close()

    def _window_bytes_for_next_batch(self, window: memoryview) -> int:
        """How large a window has to be for the next batch; 0 where the log ends in a part of one.

        Raises: PipelineFailure for a part of a batch in a segment that is not the newest.
        """
        left = self._task.segment.size_bytes - self.position
        size = int.from_bytes(window[8:LOG_OVERHEAD], "big") + LOG_OVERHEAD if left >= LOG_OVERHEAD else left + 1
        if size <= left and size > len(window):
            return size
        if not self._task.segment.is_newest:
            raise PipelineFailure(
                f"{self._task.segment.path}: position {self.position}: a batch runs past the segment's end"
            )
        return 0

    def _count_losses(self, chunk: memoryview) -> None:
        """Check the chunk's batches and count its records and what they lose."""
        loses = self._task.magic < MAGIC_V2
        filler = ColumnFiller(
            WantedRows(key=False, value=False, headers=loses, max_rows=1 << 14), allocate_without_clearing
        )
        columns = filler.columns
        self._last_offset, self._max_timestamp = -1, -1
        for _ in filler.fill(chunk):
            if columns.rows:
                self._counts["records"] += columns.rows
                self._counts["headers"] += columns.header_key.count if loses else 0
                timestamps: Any = np.frombuffer(columns.timestamps_buffer, np.int64, columns.rows)
                self._counts["timestamps"] += int((timestamps >= 0).sum()) if self._task.magic == 0 else 0
                self._max_timestamp = max(self._max_timestamp, int(timestamps.max()))
                self._last_offset = int(np.frombuffer(columns.offsets_buffer, np.int64, columns.rows)[-1])
                columns.clear()
        for header in batch_headers_in(chunk):
            if loses and header.magic == MAGIC_V2:
                self._counts["producer_batches"] += header.producer_id >= 0
                self._counts["control_batches"] += header.is_control
            self._last_offset = max(self._last_offset, header.last_offset if not loses else -1)

    def _convert(self, chunk: memoryview) -> Buffer:
        task = self._task
        if task.magic == MAGIC_V2:
            return convert_chunk_up(chunk)
        bound = kernel.plan_chunk(chunk, task.magic, len(chunk))[3]
        if len(self._out) < bound:
            self._out = bytearray(bound)
        return convert_down(
            chunk, target=task.magic, first_offset=-(1 << 63), out=self._out, zstd_to=task.recompress
        ).data

    def _append(self, data: Buffer) -> None:
        if not len(data):
            return
        self._sha.update(data)
        self._counts["batches"] += _count_batches(data)
        self._written.append(
            [data],
            len(data),
            first_offset=self._last_offset,
            last_offset=self._last_offset,
            max_timestamp=-1 if self._task.magic == 0 else self._max_timestamp,
            max_timestamp_offset=self._last_offset,
            config=_CONFIG,
        )


def _count_batches(data: Buffer) -> int:
    return kernel.plan_chunk(data, MAGIC_V2, len(data))[1]
