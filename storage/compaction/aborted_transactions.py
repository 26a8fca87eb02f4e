"""While a log is scanned: which batches belong to aborted transactions, and which markers can be removed.

    data of an aborted transaction       is removed
    marker                               is removed when no data of its transaction is left before it (KIP-98) and its
                                         own delete horizon has passed (KAFKA-8522)

The caller passes batches in the order of the log, from a segment's start on, and before them that segment's aborted
transactions.
Source: Kafka 3.9, CleanedTransactionMetadata.
"""

import heapq
from collections.abc import Iterable

from ...protocol.records.batch import RecordBatch
from ..index.transaction_index import AbortedTransaction
from ..producers.control_marker import parse_marker


class CleanedTransactionMetadata:
    """Transactions that are open at the position where the log is being read."""

    def __init__(self) -> None:
        self._coming: list[tuple[int, AbortedTransaction]] = []
        self._aborted: dict[int, AbortedTransaction] = {}
        self._with_data: set[int] = set()
        self._committed: set[int] = set()
        # Aborted transactions whose marker stays: the cleaned segment's transaction index needs them.
        self.retained: list[AbortedTransaction] = []

    def add_aborted_transactions(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Adds the aborted transactions, from the transaction indexes, of the part of the log that is read next."""
        for each in aborted:
            heapq.heappush(self._coming, (each.first_offset, each))

    def is_aborted(self, batch: RecordBatch) -> bool:
        """Whether this batch of data can be removed because its transaction was aborted."""
        self._consume_aborted_up_to(batch.last_offset)
        if not batch.is_transactional:
            return False
        if batch.producer_id in self._aborted:
            self._with_data.add(batch.producer_id)
            return True
        self._committed.add(batch.producer_id)
        return False

    def can_discard_control_batch(self, batch: RecordBatch) -> bool:
        """Whether the batch is empty, or a marker with no data of its transaction before it.

        Raises: InvalidRecord for a marker that is not whole.
        """
        self._consume_aborted_up_to(batch.last_offset)
        if not batch.record_count:
            return True
        marker = parse_marker(batch.body)
        if marker is None:
            return False
        producer_id = batch.producer_id
        if not marker.is_abort:
            was_met = producer_id in self._committed
            self._committed.discard(producer_id)
            return not was_met
        aborted = self._aborted.pop(producer_id, None)
        if aborted is None or producer_id not in self._with_data:
            return True
        self._with_data.discard(producer_id)
        self.retained.append(aborted)
        return False

    def take_retained_transactions(self) -> list[AbortedTransaction]:
        """Returns `retained` and empties it."""
        taken, self.retained = self.retained, []
        return taken

    def _consume_aborted_up_to(self, offset: int) -> None:
        while self._coming and self._coming[0][0] <= offset:
            aborted = heapq.heappop(self._coming)[1]
            self._aborted.setdefault(aborted.producer_id, aborted)
