"""The versions of an API that both sides speak."""

from collections.abc import Generator, Mapping

from .. import __version__
from ..protocol.api import API, ApiKey
from ..protocol.errors import ErrorCode
from ..protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

VersionRange = tuple[int, int]
VersionRanges = Mapping[int, VersionRange]
"""By API key: the least and the newest version that a broker offers."""
ANY_VERSION: VersionRange = (0, 0x7FFF)
NOT_OFFERED: VersionRange = (0, -1)
VERSION_WITH_SOFTWARE = 3
"""The first ApiVersions in which a client names its software."""
VERSIONS_REQUEST = ApiVersionsRequest(client_software_name="stepdown", client_software_version=__version__)


def ask_versions(*, named: bool) -> Generator[int, ApiVersionsResponse, ApiVersionsResponse]:
    """Yields the version in which to send `VERSIONS_REQUEST`; returns the answer that counts.

    v0 is what every broker since 0.10 can read. `named`: with the name of the software, where the broker takes that.
    """
    if named:
        answer = yield VERSION_WITH_SOFTWARE
        if answer.error_code != ErrorCode.UNSUPPORTED_VERSION:
            return answer
    return (yield 0)


def common_version(key: ApiKey, ranges: VersionRanges, within: VersionRange = ANY_VERSION) -> int | None:
    """The newest version in the range `within` that both sides speak; None when there is none."""
    low, high = ranges.get(key, NOT_OFFERED)
    spec = API[key]
    version = min(high, spec.max_version, within[1])
    return version if version >= max(low, spec.min_version, within[0]) else None
