"""Keeps the producer state of a log up to date: checks a batch before it is written, and adds it afterwards or when the
log is read again."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ...protocol.records.batch_header import BatchHeader
from ..files.file_handle import Buffer
from ..index.transaction_index import AbortedTransaction
from ..validation.prepared_append import PreparedAppend
from .control_marker import Marker, parse_marker
from .producer_snapshot import Snapshots, encode_snapshot
from .producer_states import BatchSequence, CompletedTransaction, ProducerEntry, ProducerStates

MOST_AT_ONCE = 5_000
"""The most producers whose snapshot is written by the append that begins a segment: 40,000 took 25 ms."""
_SEQUENCES = 1 << 31


@dataclass(slots=True)
class PlannedSnapshot:
    """The state at an offset, which a flush will write; `restores`: how often the state had been restored by then."""

    offset: int
    producers: Sequence[ProducerEntry]
    restores: int
    data: bytes = b""

    def encode_data(self) -> None:
        """Fills `data` with the encoded snapshot; may be called in any thread."""
        self.data = encode_snapshot(self.producers)


class ProducerTracking:
    """The producers of one log and their snapshots."""

    __slots__ = ("_planned", "_restores", "snapshots", "state")

    def __init__(self, state: ProducerStates, snapshots: Snapshots) -> None:
        self.state = state
        self.snapshots = snapshots
        self._planned: PlannedSnapshot | None = None
        self._restores = 0

    def find_duplicate(self, prepared: PreparedAppend) -> BatchSequence | None:
        """The earlier batch that this append repeats, or None when it may be written.

        Raises: ApiError 45, 47, 48, 52; InvalidRecord for a marker that is not whole.
        """
        if prepared.producer_id < 0:
            return None
        repeated = self.state.find_duplicate(prepared)
        if repeated is None and prepared.is_control and (marker := parse_marker(prepared.body)) is not None:
            self.state.check_marker(prepared.producer_id, marker)
        return repeated

    def track_append(self, prepared: PreparedAppend, first_offset: int) -> Iterator[AbortedTransaction]:
        """Adds a batch that was written; yields the transaction that it aborted, if any."""
        producer_id, epoch, timestamp = prepared.producer_id, prepared.producer_epoch, prepared.max_timestamp
        if producer_id < 0:
            return
        if not prepared.is_control:
            self.state.add_batch(
                producer_id, epoch, prepared.last_sequence, first_offset=first_offset,
                last_offset=first_offset + prepared.last_offset_delta, timestamp=timestamp,
                is_transactional=prepared.is_transactional,
            )  # fmt: skip
        elif (marker := parse_marker(prepared.body)) is not None:
            yield from self._end_transaction(producer_id, epoch, marker, offset=first_offset, timestamp=timestamp)

    def replay(self, header: BatchHeader, body: Buffer | Callable[[], Buffer]) -> Iterator[AbortedTransaction]:
        """Adds a batch that is read again; yields the transaction that it aborted, if any.

        Raises: InvalidRecord for a marker that is not whole.
        """
        if header.producer_id < 0:
            return
        if not header.is_control:
            delta = header.last_offset - header.base_offset
            last_sequence = (header.base_sequence + delta) % _SEQUENCES if header.base_sequence >= 0 else -1
            self.state.add_batch(
                header.producer_id, header.producer_epoch, last_sequence, first_offset=header.base_offset,
                last_offset=header.last_offset, timestamp=header.max_timestamp,
                is_transactional=header.is_transactional,
            )  # fmt: skip
        elif (marker := parse_marker(body() if callable(body) else body)) is not None:
            yield from self._end_transaction(
                header.producer_id,
                header.producer_epoch,
                marker,
                offset=header.base_offset,
                timestamp=header.max_timestamp,
            )

    def _end_transaction(
        self, producer_id: int, epoch: int, marker: Marker, *, offset: int, timestamp: int
    ) -> Iterator[AbortedTransaction]:
        completed = self.state.add_marker(producer_id, epoch, marker, offset=offset, timestamp=timestamp)
        if completed is None:
            return
        if completed.is_aborted:
            yield self._to_aborted_transaction(completed)
        self.state.complete(completed)

    def _to_aborted_transaction(self, completed: CompletedTransaction) -> AbortedTransaction:
        stable = self.state.stable_offset_after(completed)
        return AbortedTransaction(completed.producer_id, completed.first_offset, completed.last_offset, stable)

    def take_snapshot(self, offset: int, *, sync: bool) -> None:
        """Writes a snapshot of the state, which is that at `offset`, unless `offset` is 0 or a snapshot exists."""
        if offset > 0:
            self.snapshots.take(offset, self.state.producers.values(), sync=sync)

    def take_or_plan_snapshot(self, offset: int) -> None:
        """Calls `take_snapshot` without a sync; if there are many producers, the next flush writes it instead."""
        if len(self.state.producers) <= MOST_AT_ONCE:
            self.take_snapshot(offset, sync=False)
        else:
            self._planned = PlannedSnapshot(offset, self.state.capture(), self._restores)

    def take_planned_snapshot(self) -> PlannedSnapshot | None:
        """Returns the newest planned snapshot, or None, and forgets it, so that no other flush writes it."""
        planned, self._planned = self._planned, None
        return planned

    def write_planned_snapshot(self, planned: PlannedSnapshot) -> None:
        """Writes an encoded snapshot, unless the state was restored since it was planned."""
        if planned.restores == self._restores:
            self.snapshots.write(planned.offset, planned.data, sync=False)

    def restore_from_snapshot(self, up_to: int, start: int) -> int:
        """Loads the newest snapshot at or below `up_to`; returns the offset to read on from, at least `start`."""
        self._planned = None
        self._restores += 1
        self.state.clear()
        found = self.snapshots.read_latest(up_to)
        if found is None:
            return start
        offset, entries = found
        self.state.load(entries)
        return max(start, offset)
