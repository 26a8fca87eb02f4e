"""Feature levels that the cluster supports and has finalized (KIP-584), as Kafka 3.9 tells them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRange:
    """Levels of one feature, both ends included; `finalized` is the one in force in a new cluster, 0 for none."""

    first: int
    last: int
    finalized: int


METADATA_VERSION = "metadata.version"

SUPPORTED: Mapping[str, FeatureRange] = {
    METADATA_VERSION: FeatureRange(first=1, last=21, finalized=21),  # 3.0-IV1 to 3.9-IV0
    "kraft.version": FeatureRange(first=0, last=1, finalized=0),
}


def levels_in_force(stored: Mapping[str, int]) -> dict[str, int]:
    """The levels in force: those that were set, else those of a new cluster; level 0 is not shown."""
    levels = {name: stored.get(name, levels.finalized) for name, levels in SUPPORTED.items()}
    return {name: level for name, level in levels.items() if level > 0}
