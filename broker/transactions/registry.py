"""Transactional ids by name, as the log has them."""

import logging
from collections.abc import Iterator

from ...protocol.coordinator.transaction_log import TransactionRecord
from .transaction import NO_EPOCH, Transaction, TransactionMetadata
from .transaction_status import TransactionStatus

log = logging.getLogger(__name__)


class TransactionRegistry:
    """All transactional ids that this broker knows."""

    def __init__(self) -> None:
        self._by_id: dict[str, Transaction] = {}

    def __iter__(self) -> Iterator[Transaction]:
        """The transactions known now; others may come and go during the iteration."""
        return iter(tuple(self._by_id.values()))

    def __len__(self) -> int:
        return len(self._by_id)

    def find(self, transactional_id: str) -> Transaction | None:
        return self._by_id.get(transactional_id)

    def add(self, transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> Transaction:
        """Adds a new transactional id, which has no epoch yet."""
        metadata = TransactionMetadata(
            producer_id=producer_id,
            producer_epoch=NO_EPOCH,
            timeout_ms=timeout_ms,
            state=TransactionStatus.EMPTY,
            updated_ms=now_ms,
        )
        made = self._by_id[transactional_id] = Transaction(transactional_id=transactional_id, now=metadata)
        return made

    def remove(self, transactional_id: str) -> None:
        self._by_id.pop(transactional_id, None)

    def clear(self) -> None:
        self._by_id.clear()

    def apply(self, record: TransactionRecord) -> None:
        """Applies one record of the log."""
        if record.value is None:
            self.remove(record.transactional_id)
            return
        try:
            metadata = TransactionMetadata.of_value(record.value)
        except ValueError as fault:
            log.warning("the record of transactional id %r is skipped: %s", record.transactional_id, fault)
            return
        self._by_id[record.transactional_id] = Transaction(transactional_id=record.transactional_id, now=metadata)
