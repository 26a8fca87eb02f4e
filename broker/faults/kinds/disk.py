"""`disk`: writing to a partition fails."""

import errno
from dataclasses import dataclass
from typing import ClassVar, Final

from ....protocol.api import ApiKey
from ..fault import OF_REQUESTS, Fault, FaultStage, field_with_parser
from ..field_parsers import make_choice_parser, parse_positive

ERRORS: Final = {"full": errno.ENOSPC, "error": errno.EIO}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskWriteFault(Fault):
    """Writing to a partition fails: the disk is `full`, or has an `error`; its log directory is offline then."""

    kind: ClassVar[str] = "disk"
    missing_fields: ClassVar[tuple[str, ...]] = OF_REQUESTS
    times: int | None = field_with_parser(parse_positive, None)
    what: str = field_with_parser(make_choice_parser(*ERRORS))

    @property
    def error_number(self) -> int:
        """The error number of the operating system."""
        return ERRORS[self.what]

    def stage_for(self, key: ApiKey) -> FaultStage:
        return FaultStage.NOWHERE
