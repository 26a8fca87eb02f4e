"""UpdateFeatures (key 57), versions 0–1, flexible in all.

Raises or lowers finalized feature levels (KIP-584). v1 replaces `allow_downgrade` by an upgrade type.
"""

from collections.abc import Sequence

from ..schema import array, boolean, int8, int16, int32, message, string, struct


@struct
class FeatureUpdateKey:
    feature: str = string()
    max_version_level: int = int16()
    allow_downgrade: bool = boolean("0")
    upgrade_type: int = int8("1+", default=1)


@message(versions="0-1", flexible="0+")
class UpdateFeaturesRequest:
    """Features and their new levels."""

    timeout_ms: int = int32(default=60000)
    feature_updates: Sequence[FeatureUpdateKey] = array(FeatureUpdateKey)
    validate_only: bool = boolean("1+")


@struct
class UpdatableFeatureResult:
    feature: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@message(versions="0-1", flexible="0+")
class UpdateFeaturesResponse:
    """How that went, per feature."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    results: Sequence[UpdatableFeatureResult] = array(UpdatableFeatureResult)
