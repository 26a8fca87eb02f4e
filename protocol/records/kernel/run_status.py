"""How a run of the kernel ends, and the error for a batch that is refused."""

from typing import Final

from ...errors import CorruptRecord, InvalidRecord, PeerFault

DONE: Final = 0
NEEDS_CODEC: Final = 1
NO_ROOM: Final = 2
BAD_FRAME: Final = 3
BAD_CHECKSUM: Final = 4
BAD_RECORD: Final = 5
BAD_TIMESTAMP: Final = 6
BAD_ORDER: Final = 7
BAD_MAGIC: Final = 8
BAD_COUNT: Final = 9
FULL: Final = 10

_FAULTS = {
    BAD_FRAME: "its frame is wrong",
    BAD_CHECKSUM: "its checksum does not match",
    BAD_RECORD: "a record is broken",
    BAD_TIMESTAMP: "a record has a negative timestamp",
    BAD_ORDER: "its offsets do not increase, or by too much",
    BAD_MAGIC: "a message of another magic, or a compressed one, lies inside",
    BAD_COUNT: "its records are not as many as it says",
}


def fault(status: int, offset: int) -> PeerFault:
    """Returns the error for a run that ended with `status` at the batch with this offset."""
    text = f"the batch at offset {offset} is refused: {_FAULTS[status]}"
    return CorruptRecord(text) if status <= BAD_CHECKSUM else InvalidRecord(text)
