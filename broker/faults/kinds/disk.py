"""`disk`: writing to a partition fails."""

from dataclasses import dataclass
from typing import ClassVar, Final

from ....protocol.api import ApiKey
from ..fault import Fault, Place, field_with_parser
from ..field_parsers import count, one_of

REASONS: Final = {"full": "No space left on device", "error": "Input/output error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskWriteFault(Fault):
    """Writing to a partition fails: the disk is `full`, or has an `error`."""

    kind: ClassVar[str] = "disk"
    is_for_requests: ClassVar[bool] = False
    times: int | None = field_with_parser(count, None)
    what: str = field_with_parser(one_of(*REASONS))

    @property
    def reason(self) -> str:
        """What the operating system would say."""
        return REASONS[self.what]

    def place(self, key: ApiKey) -> Place:
        return Place.NOWHERE
