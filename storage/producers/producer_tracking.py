"""Producer state kept in step with a log: checked before a write, brought up to date after it or while it is read
again."""

from collections.abc import Callable, Iterator

from ...protocol.records.batch_header import BatchHeader
from ..files.file_handle import Buffer
from ..index.transaction_index import AbortedTransaction
from ..validation.prepared_append import PreparedAppend, PreparedBatch
from .control_marker import Marker, parse_marker
from .producer_snapshot import Snapshots
from .producer_state import BatchSequence, CompletedTransaction, ProducerState

_SEQUENCES = 1 << 31


class ProducerTracking:
    """The producers of one log and their snapshots."""

    __slots__ = ("snapshots", "state")

    def __init__(self, state: ProducerState, snapshots: Snapshots) -> None:
        self.state = state
        self.snapshots = snapshots

    def check(self, prepared: PreparedAppend) -> BatchSequence | None:
        """The batch that this append repeats, or None when it may be written.

        Raises: ApiError 45, 47, 48, 52; InvalidRecord for a marker that is not whole.
        """
        for batch in prepared.batches:
            if batch.producer_id < 0:
                continue
            repeated = self.state.check(batch, prepared.origin)
            if repeated is not None:
                return repeated
            marker = parse_marker(batch.body) if batch.is_control else None
            if marker is not None:
                self.state.check_marker(batch.producer_id, marker)
        return None

    def remember(self, prepared: PreparedAppend, first_offset: int) -> Iterator[AbortedTransaction]:
        """Take in what was written; the transactions it aborted."""
        offset = first_offset
        for batch in prepared.batches:
            if batch.producer_id >= 0:
                yield from self._remember(batch, offset)
            offset += batch.last_offset_delta + 1

    def _remember(self, batch: PreparedBatch, first_offset: int) -> Iterator[AbortedTransaction]:
        if not batch.is_control:
            self.state.add_batch(
                batch.producer_id, batch.producer_epoch, batch.last_sequence, first_offset=first_offset,
                last_offset=first_offset + batch.last_offset_delta, timestamp=batch.max_timestamp,
                is_transactional=batch.is_transactional,
            )  # fmt: skip
        elif (marker := parse_marker(batch.body)) is not None:
            yield from self._end(
                batch.producer_id, batch.producer_epoch, marker, offset=first_offset, timestamp=batch.max_timestamp
            )

    def replay(self, header: BatchHeader, body: Buffer | Callable[[], Buffer]) -> Iterator[AbortedTransaction]:
        """Take in a batch that is in the log already; the transaction it aborted, if any.

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
            yield from self._end(
                header.producer_id,
                header.producer_epoch,
                marker,
                offset=header.base_offset,
                timestamp=header.max_timestamp,
            )

    def _end(
        self, producer_id: int, epoch: int, marker: Marker, *, offset: int, timestamp: int
    ) -> Iterator[AbortedTransaction]:
        completed = self.state.add_marker(producer_id, epoch, marker, offset=offset, timestamp=timestamp)
        if completed is None:
            return
        if completed.is_aborted:
            yield self._aborted(completed)
        self.state.complete(completed)

    def _aborted(self, completed: CompletedTransaction) -> AbortedTransaction:
        stable = self.state.stable_offset_after(completed)
        return AbortedTransaction(completed.producer_id, completed.first_offset, completed.last_offset, stable)

    def take_snapshot(self, offset: int, *, sync: bool) -> None:
        """Write the state, which is that of `offset`; nothing at 0 or where a snapshot is already."""
        if offset > 0:
            self.snapshots.take(offset, self.state.producers.values(), sync=sync)

    def restore(self, up_to: int, start: int) -> int:
        """Begin anew with the newest snapshot not above `up_to`; the offset to read on from, `start` or more."""
        self.state.clear()
        found = self.snapshots.read_latest(up_to)
        if found is None:
            return start
        offset, entries = found
        self.state.load(entries)
        return max(start, offset)
