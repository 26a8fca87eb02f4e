"""The exceptions of record validation, with the metric label under which each is counted.

The errors of all records of a batch are collected before it is refused (KIP-467), but at most `MAX_RECORD_ERRORS`: a
batch may have millions of small records, and the response would be larger than the request.
"""

from enum import Enum

from ...protocol.errors import CorruptRecord, ErrorCode, InvalidRecord, PeerFault

MAX_RECORD_ERRORS = 1000
_SHOWN = 3


class Reason(Enum):
    """The values of the label `reason` of `stepdown_invalid_records_total`."""

    INVALID_MAGIC = "invalid_magic"
    INVALID_CHECKSUM = "invalid_checksum"
    INVALID_OFFSET_OR_SEQUENCE = "invalid_offset_or_sequence"
    NO_KEY = "no_key_in_compacted_topic"


class InvalidBatch(InvalidRecord):
    """The batch as a whole breaks a rule; it is counted under `reason`."""

    def __init__(self, message: str, reason: Reason) -> None:
        super().__init__(message)
        self.reason = reason


class ChecksumMismatch(CorruptRecord):
    """The checksum of a batch, or of a message inside a compressed one, is wrong."""

    reason = Reason.INVALID_CHECKSUM


class RecordErrors(PeerFault):
    """Some records are invalid; `errors` has (index in the batch, reason) of at most `MAX_RECORD_ERRORS` of them.

    `total`: the number of invalid records. `keyless`: those without a key in a compacted topic. The error code is
    INVALID_TIMESTAMP if any timestamp is wrong, else INVALID_RECORD.
    """

    def __init__(self, errors: tuple[tuple[int, str], ...], *, total: int, keyless: int, timestamps: int) -> None:
        wrong = "have a timestamp that the topic does not accept" if timestamps else "are invalid"
        shown = "; ".join(f"record {index}: {text}" for index, text in errors[:_SHOWN])
        super().__init__(
            f"{total} records {wrong}, the batch is refused: {shown}{'; ...' if total > _SHOWN else ''}",
            ErrorCode.INVALID_TIMESTAMP if timestamps else ErrorCode.INVALID_RECORD,
        )
        self.errors = errors
        self.total = total
        self.keyless = keyless
        self.reason = Reason.NO_KEY if keyless else None


class RecordErrorCollector:
    """Collects the record errors of one batch; `raise_if_any` raises them."""

    def __init__(self) -> None:
        self._errors: list[tuple[int, str]] = []
        self._total = 0
        self._keyless = 0
        self._timestamps = 0

    def add_invalid_record(self, index: int, text: str) -> None:
        self._add(index, text)

    def add_keyless(self, index: int) -> None:
        self._keyless += 1
        self._add(index, "a compacted topic takes no record without a key")

    def add_invalid_timestamp(self, index: int, text: str) -> None:
        self._timestamps += 1
        self._add(index, text)

    def raise_if_any(self) -> None:
        """Raises: RecordErrors if an error was added."""
        if self._total:
            raise RecordErrors(
                tuple(self._errors), total=self._total, keyless=self._keyless, timestamps=self._timestamps
            )

    def _add(self, index: int, text: str) -> None:
        self._total += 1
        if len(self._errors) < MAX_RECORD_ERRORS:
            self._errors.append((index, text))
