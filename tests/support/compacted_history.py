"""Random histories of a compacted log, written, cleaned and broken off, beside a model of what has to be left."""

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.layout import Codec, ControlType
from stepdown.protocol.records.record import Record
from stepdown.storage.log.log import Log
from stepdown.storage.validation.prepared_append import AppendOrigin
from support.clock import ManualClock
from support.compaction import clean, limits
from support.files import Crash, FaultyFiles
from support.logs import NOW, make_log, prepared

RETENTION_MS = 1000
CODECS = (Codec.NONE, Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.SNAPPY, Codec.ZSTD)
Written = tuple[bytes | None, bytes | None, int]


@dataclass(slots=True)
class Producer:
    """One producer of the history: its next sequence, and what its open transaction has written."""

    producer_id: int
    epoch: int = 0
    sequence: int = 0
    open: dict[int, Written] = field(default_factory=dict)


class History:
    """A log and its model. `written` are the records that count, by offset; aborted ones do not."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.random = Random(seed)
        self.directory = directory
        self.files = FaultyFiles(seed=seed)
        self.clock = ManualClock(NOW)
        self.log = self._open(clean=True)
        self.written: dict[int, Written] = {}
        self.aborted: set[int] = set()
        self.producers = {n: Producer(n) for n in (100, 101, 102)}
        self.checkpoint: int | None = None
        self.untouched_from = 0  # no cleaning, broken off or not, has come so far

    def _open(self, *, clean: bool) -> Log:
        return make_log(
            self.directory,
            files=self.files,
            clock=self.clock,
            clean=clean,
            cleanup_policy=("compact",),
            segment_bytes=4000,
            index_interval_bytes=200,
            delete_retention_ms=RETENTION_MS,
        )

    # Writing

    def write(self) -> None:
        """One batch: plain, of an idempotent producer, or of a transaction."""
        random = self.random
        producer = random.choice([None, *self.producers.values()])
        transactional = producer is not None and (bool(producer.open) or random.random() < 0.5)
        count = random.randint(1, 8)
        records = [self._record(n) for n in range(count)]
        fields: dict[str, object] = {"codec": random.choice(CODECS)}
        if producer is not None:
            fields |= {
                "producer_id": producer.producer_id,
                "producer_epoch": producer.epoch,
                "base_sequence": producer.sequence,
                "transactional": transactional,
            }
            producer.sequence += count
        info = self.log.append(prepared(build_batch(records, **fields)), leader_epoch=0)  # type: ignore[arg-type]
        self.log.note_high_watermark(self.log.log_end_offset)
        found = {
            info.first_offset + n: (record.key, record.value, record.timestamp) for n, record in enumerate(records)
        }
        if producer is not None and transactional:
            producer.open.update(found)
        else:
            self.written.update(found)

    def _record(self, number: int) -> Record:
        random = self.random
        key = b"key%d" % random.randint(0, 12)
        value = None if random.random() < 0.15 else b"%d" % random.getrandbits(random.choice((8, 200)))
        timestamp = self.clock.now - random.randint(0, 50)
        return Record(offset=number, timestamp=timestamp, key=key, value=value)

    def end_transaction(self) -> None:
        """Commits or aborts one that is open, if any is."""
        still = [producer for producer in self.producers.values() if producer.open]
        if not still:
            return
        producer = self.random.choice(still)
        commits = self.random.random() < 0.5
        data = build_control_marker(
            ControlType.COMMIT if commits else ControlType.ABORT,
            offset=0,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            coordinator_epoch=0,
            timestamp=self.clock.now,
        )
        self.log.append(prepared(data, origin=AppendOrigin.COORDINATOR), leader_epoch=0)
        self.log.note_high_watermark(self.log.log_end_offset)
        if commits:
            self.written.update(producer.open)
        else:
            self.aborted.update(producer.open)
        producer.open = {}

    # Cleaning

    def clean(self) -> None:
        """Cleans what is closed and stable, with buffers and a map of any size."""
        random = self.random
        allowed = limits(
            map_bytes=24 * random.choice((40, 1000)), io_bytes=random.choice((100, 1000, 1 << 16)), load_factor=0.5
        )
        self.log.flush()  # what a crash takes beyond that is no matter of compaction
        self.log.producers.take_snapshot(self.log.log_end_offset, sync=True)
        self.untouched_from = max(self.untouched_from, self.log.segments.active.base_offset)
        self.checkpoint = clean(self.log, self.checkpoint, self.clock.now, allowed).clean_end

    def clean_and_crash(self) -> None:
        """As `clean`, but the process ends in the middle, or the machine; then the log is opened again."""
        self.log.flush()
        self.files.crash_in = self.random.randint(0, 40)
        try:
            self.clean()
        except Crash:
            self.files.crash_in = None
            if self.random.random() < 0.5:
                self.files.lose_power()
            self.log.release()
            self.log = self._open(clean=False)
            self.log.note_high_watermark(self.log.log_end_offset)
        self.files.crash_in = None

    def reopen(self) -> None:
        """A clean stop and start."""
        self.log.close()
        self.log = self._open(clean=True)
        self.log.note_high_watermark(self.log.log_end_offset)

    def step(self) -> None:
        """Anything of the above."""
        action = self.random.choices(
            (self.write, self.end_transaction, self.log.roll, self.clean, self.clean_and_crash, self.reopen, self.wait),
            weights=(60, 15, 6, 4, 4, 2, 4),
        )[0]
        action()

    def wait(self) -> None:
        """Time passes: tombstones and markers may go."""
        self.clock.now += self.random.choice((10, RETENTION_MS))

    # What is there

    def found(self) -> dict[int, Written]:
        """Records by offset as they lie in the log, markers aside."""
        found: dict[int, Written] = {}
        for segment in self.log.segments:
            for batch in iter_batches(segment.file.read(segment.size, 0)):
                batch.ensure_valid()
                if not batch.is_control:
                    for record in batch.records():
                        value = None if record.value is None else bytes(record.value)
                        found[record.offset] = (bytes(record.key or b""), value, record.timestamp)
        return found

    def visible(self) -> dict[int, Written]:
        """What a consumer with read_committed gets: the aborted list applied as clients apply it."""
        log, random = self.log, self.random
        unstable = log.first_unstable_offset
        end = log.log_end_offset if unstable is None else unstable
        offset, shown = 0, {}
        while offset < end:
            slice_ = log.read(offset, random.choice((300, 5000)), below=end, min_one_message=True)
            if not slice_.size_bytes:
                break
            coming = sorted(log.aborted_transactions(offset, slice_), key=lambda each: each[1])
            aborted: set[int] = set()
            for batch in iter_batches(slice_.read(0, slice_.size_bytes)):
                while coming and coming[0][1] <= batch.last_offset:
                    aborted.add(coming.pop(0)[0])
                if batch.is_control:
                    aborted.discard(batch.producer_id)
                elif not (batch.is_transactional and batch.producer_id in aborted):
                    for record in batch.records():
                        if record.offset >= offset:
                            value = None if record.value is None else bytes(record.value)
                            shown[record.offset] = (bytes(record.key or b""), value, record.timestamp)
                offset = batch.last_offset + 1
        return shown


def latest(records: dict[int, Written]) -> dict[bytes | None, bytes]:
    """The last value of each key that has one."""
    values: dict[bytes | None, bytes | None] = {}
    for offset in sorted(records):
        values[records[offset][0]] = records[offset][1]
    return {key: value for key, value in values.items() if value is not None}
