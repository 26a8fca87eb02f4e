"""The kinds of faults, one class each: its fields, where it applies, what it does."""

from typing import Final

from ..fault import Fault
from .black_hole import BlackHoleFault
from .corrupt import CorruptFault
from .delay import DelayFault
from .disk import DiskWriteFault
from .drop import DropFault
from .duplicate import DuplicateFault
from .error import ErrorFault
from .hold import HoldFault
from .hook import HookFault
from .lose_marker import LoseMarkerFault
from .lose_records import LoseRecordsFault
from .metadata_leader import MetadataLeaderFault
from .stale_metadata import StaleMetadataFault
from .throttle import ThrottleFault
from .versions import VersionsFault
from .watermark import WatermarkFault

KINDS: Final[dict[str, type[Fault]]] = {
    each.kind: each
    for each in (
        ErrorFault,
        DelayFault,
        HoldFault,
        DropFault,
        BlackHoleFault,
        ThrottleFault,
        CorruptFault,
        WatermarkFault,
        DuplicateFault,
        LoseRecordsFault,
        VersionsFault,
        MetadataLeaderFault,
        StaleMetadataFault,
        DiskWriteFault,
        LoseMarkerFault,
        HookFault,
    )
}
"""By name, in the order of help and docs."""
