"""The versions of an API that both sides speak."""

from collections.abc import Mapping

from ..protocol.api import API, ApiKey

VersionRange = tuple[int, int]
VersionRanges = Mapping[int, VersionRange]
"""By API key: the least and the newest version that a broker offers."""
ANY_VERSION: VersionRange = (0, 0x7FFF)
NOT_OFFERED: VersionRange = (0, -1)


def common_version(key: ApiKey, ranges: VersionRanges, within: VersionRange = ANY_VERSION) -> int | None:
    """The newest version in the range `within` that both sides speak; None when there is none."""
    low, high = ranges.get(key, NOT_OFFERED)
    spec = API[key]
    version = min(high, spec.max_version, within[1])
    return version if version >= max(low, spec.min_version, within[0]) else None
