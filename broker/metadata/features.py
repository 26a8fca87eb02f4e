"""Feature levels that the cluster supports and has finalized (KIP-584), as Kafka 3.9 reports them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRange:
    """Levels of one feature, both ends included; `finalized` is the one in force in a new cluster, 0 for none.

    A feature that is not `is_here` stays at level 0: this broker does not have what clients would use.
    """

    first: int
    last: int
    finalized: int
    is_here: bool = True


METADATA_VERSION = "metadata.version"

SUPPORTED: Mapping[str, FeatureRange] = {
    METADATA_VERSION: FeatureRange(first=1, last=21, finalized=21),  # 3.0-IV1 to 3.9-IV0
    "kraft.version": FeatureRange(first=0, last=1, finalized=0),
}

KRAFT_VERSION = {"kraft.version": FeatureRange(first=0, last=1, finalized=0)}
IN_4_0: Mapping[str, FeatureRange] = {
    **KRAFT_VERSION,
    METADATA_VERSION: FeatureRange(first=7, last=25, finalized=25),
    "group.version": FeatureRange(first=0, last=1, finalized=1),
    "transaction.version": FeatureRange(first=0, last=2, finalized=0, is_here=False),
    "eligible.leader.replicas.version": FeatureRange(first=0, last=1, finalized=0),
}
IN_4_1: Mapping[str, FeatureRange] = {
    **IN_4_0,
    METADATA_VERSION: FeatureRange(first=7, last=27, finalized=27),
    "eligible.leader.replicas.version": FeatureRange(first=0, last=1, finalized=1),
    "share.version": FeatureRange(first=0, last=1, finalized=0, is_here=False),
}
IN_4_4: Mapping[str, FeatureRange] = {
    **IN_4_1,
    METADATA_VERSION: FeatureRange(first=7, last=33, finalized=33),
    "share.version": FeatureRange(first=0, last=2, finalized=0, is_here=False),
    "streams.version": FeatureRange(first=0, last=1, finalized=0, is_here=False),
}
OF_RELEASES: Mapping[str, Mapping[str, FeatureRange]] = {"3.9": SUPPORTED, "4.0": IN_4_0, "4.1": IN_4_1, "4.4": IN_4_4}
"""As a new cluster of each release has them; releases with ZooKeeper have none."""


def features_of(release: str | None) -> Mapping[str, FeatureRange]:
    """The features of the release that the broker acts as; with None those of this broker."""
    return SUPPORTED if release is None else OF_RELEASES.get(release, {})


def levels_in_force(stored: Mapping[str, int], supported: Mapping[str, FeatureRange] = SUPPORTED) -> dict[str, int]:
    """The levels in force: those that were set, else those of a new cluster. Features at level 0 are left out.

    A new cluster stores the `metadata.version` of 3.9; a broker that acts as another release reports the level of that
    release instead.
    """
    levels = {name: _level(name, stored, levels) for name, levels in supported.items()}
    return {name: level for name, level in levels.items() if level > 0}


def _level(name: str, stored: Mapping[str, int], levels: FeatureRange) -> int:
    level = stored.get(name, levels.finalized)
    return levels.finalized if name == METADATA_VERSION and level == SUPPORTED[name].finalized else level
