"""ApiVersions, versions 0-4 (KIP-35, 511, 584): what this broker answers, and who is asking.

Version notes: v0 has no throttle time; v3 names the client's software, which must look like a name, and tells
features; before v4 features whose lowest level is 0 are left out, because clients could not read them. A version
above those known is answered in the layout of v0 with UNSUPPORTED_VERSION and the range of this API alone, so that
the client can ask again.
"""

import re
from typing import TYPE_CHECKING

from ...network.clients.client_report import MOST_NAME
from ...network.clients.seen_client import SeenClient
from ...protocol.api import ApiKey
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from ..dispatch.call import TESTS_CLIENT_ID, Call
from ..dispatch.served_api import ServedApi
from ..metadata.features import features_of, levels_in_force

if TYPE_CHECKING:
    from ..services import Services

FIRST_VERSION_WITH_SOFTWARE = 3
FIRST_VERSION_WITH_LEVEL_ZERO = 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(services: "Services", request: ApiVersionsRequest, call: Call) -> ApiVersionsResponse:
    if call.version >= FIRST_VERSION_WITH_SOFTWARE:
        _remember_software(request, call)
    state = services.topics.store.state
    supported = features_of(services.settings.stepdown_act_as)
    return ApiVersionsResponse(
        api_keys=_version_ranges(None if call.client_id == TESTS_CLIENT_ID else services.settings.stepdown_act_as),
        supported_features=tuple(
            SupportedFeatureKey(name=name, min_version=levels.first, max_version=levels.last)
            for name, levels in supported.items()
            if levels.first > 0 or call.version >= FIRST_VERSION_WITH_LEVEL_ZERO
        ),
        finalized_features_epoch=max(0, services.topics.store.log.last_offset),
        finalized_features=tuple(
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in levels_in_force(state.features, supported).items()
        ),
    )


def refuse(request: ApiVersionsRequest, error: ApiError, call: Call) -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=error.code)


def refuse_version(served: ServedApi | None) -> ApiVersionsResponse:
    """The v0 response to an unknown version of ApiVersions, with the versions that this broker knows."""
    ranges = () if served is None else (_version_range(ApiKey.API_VERSIONS, served),)
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=ranges)


def _version_ranges(release: str | None) -> tuple[ApiVersion, ...]:
    """The versions to offer: those of a release of Kafka if the broker acts as that, else all that it serves."""
    from . import SERVED

    if release is None:
        return tuple(_version_range(key, served) for key, served in sorted(SERVED.items()))
    from ..dispatch.acted_release import apis_of, oldest_to_advertise

    return tuple(
        ApiVersion(api_key=key, min_version=oldest_to_advertise(release, key, served), max_version=served.last)
        for key, served in sorted(apis_of(release, SERVED).items())
    )


def _version_range(key: ApiKey, served: ServedApi) -> ApiVersion:
    return ApiVersion(api_key=key, min_version=served.first, max_version=served.last)


def _remember_software(request: ApiVersionsRequest, call: Call) -> None:
    name, version = request.client_software_name, request.client_software_version
    if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
        raise ApiError(f"software {name!r} {version!r} is not a valid name and version", ErrorCode.INVALID_REQUEST)
    peer = call.peer
    peer.software_name, peer.software_version = name[:MOST_NAME], version[:MOST_NAME]
    if peer.seen.is_kept:
        peer.seen = SeenClient()  # from its next request on it is another client
