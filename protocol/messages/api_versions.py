"""ApiVersions (key 18), versions 0–4, flexible from 3: tells which APIs and versions the broker speaks.

Sent first by clients since 0.10.2. The response always has header version 0. A version the broker does not know is
answered in the layout of v0 with UNSUPPORTED_VERSION. v3 adds the client's software (KIP-511) and features; v4 shows
features of minimum version 0.
"""

from collections.abc import Sequence

from ..schema import array, boolean, int16, int32, int64, message, string, struct


@message(versions="0-4", flexible="3+")
class ApiVersionsRequest:
    """Who is asking, from v3."""

    client_software_name: str = string("3+", ignorable=True)
    client_software_version: str = string("3+", ignorable=True)


@struct
class ApiVersion:
    api_key: int = int16()
    min_version: int = int16()
    max_version: int = int16()


@struct
class SupportedFeatureKey:
    name: str = string("3+")
    min_version: int = int16("3+")
    max_version: int = int16("3+")


@struct
class FinalizedFeatureKey:
    name: str = string("3+")
    max_version_level: int = int16("3+")
    min_version_level: int = int16("3+")


@message(versions="0-4", flexible="3+")
class ApiVersionsResponse:
    """The range of versions of each API."""

    error_code: int = int16()
    api_keys: Sequence[ApiVersion] = array(ApiVersion)
    throttle_time_ms: int = int32("1+", ignorable=True)
    supported_features: Sequence[SupportedFeatureKey] = array(SupportedFeatureKey, "3+", tag=0, ignorable=True)
    finalized_features_epoch: int = int64("3+", default=-1, tag=1, ignorable=True)
    finalized_features: Sequence[FinalizedFeatureKey] = array(FinalizedFeatureKey, "3+", tag=2, ignorable=True)
    zk_migration_ready: bool = boolean("3+", tag=3, ignorable=True)
