"""Why an append is refused: the exceptions of record validation, with the metric each one is counted in.

Record errors are gathered for a whole batch before it is refused (KIP-467), but no more than `MAX_RECORD_ERRORS` of
them: a batch may hold millions of records of a few bytes, and the answer would be larger than the request.
"""

from enum import Enum

from ...protocol.errors import CorruptRecord, ErrorCode, InvalidRecord, PeerFault

MAX_RECORD_ERRORS = 1000
_SHOWN = 3


class Reason(Enum):
    """Value = the `reason` label of `stepdown_invalid_records_total`."""

    INVALID_MAGIC = "invalid_magic"
    INVALID_CHECKSUM = "invalid_checksum"
    INVALID_OFFSET_OR_SEQUENCE = "invalid_offset_or_sequence"
    NO_KEY = "no_key_in_compacted_topic"


class InvalidBatch(InvalidRecord):
    """A batch that breaks a rule as a whole, counted as `reason`."""

    def __init__(self, message: str, reason: Reason) -> None:
        super().__init__(message)
        self.reason = reason


class ChecksumMismatch(CorruptRecord):
    """A batch, or a message inside a compressed one, whose checksum is wrong."""

    reason = Reason.INVALID_CHECKSUM


class RecordErrors(PeerFault):
    """Records that were refused one by one: `errors` holds (index in the batch, why), at most `MAX_RECORD_ERRORS`.

    `total` counts all of them and `keyless` those without a key in a compacted topic. The code is INVALID_TIMESTAMP as
    soon as one timestamp is wrong, else INVALID_RECORD.
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
    """Gathers the record errors of one batch; `refuse` raises them, if there are any."""

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

    def refuse(self) -> None:
        """Raises: RecordErrors when anything was gathered."""
        if self._total:
            raise RecordErrors(
                tuple(self._errors), total=self._total, keyless=self._keyless, timestamps=self._timestamps
            )

    def _add(self, index: int, text: str) -> None:
        self._total += 1
        if len(self._errors) < MAX_RECORD_ERRORS:
            self._errors.append((index, text))
