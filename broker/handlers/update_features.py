"""UpdateFeatures, versions 0-1 (KIP-584, 778): raises or lowers finalized feature levels.

Levels are stored and shown; nothing in this broker depends on them. Each feature succeeds or fails for itself; of one
that is named twice, what comes last counts.
Version notes: v0 allows a downgrade by a flag; v1 by a type (1 upgrade, 2 safe downgrade, 3 unsafe downgrade) and can
only validate. A safe downgrade of metadata.version below 3.7-IV2 would lose metadata in Kafka and is refused; an
unsafe one always is.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from ..dispatch.call import Call
from ..metadata.features import METADATA_VERSION, FeatureRange, features_of

if TYPE_CHECKING:
    from ..services import Services

UPGRADE = 1
SAFE_DOWNGRADE = 2
UNSAFE_DOWNGRADE = 3
LOWEST_LOSSLESS_METADATA_VERSION = 17


def handle(services: "Services", request: UpdateFeaturesRequest, call: Call) -> UpdateFeaturesResponse:
    store, supported = services.topics.store, features_of(services.settings.stepdown_act_as)
    levels = dict(store.state.features)
    results = []
    for update in {update.feature: update for update in request.feature_updates}.values():
        code, message = ErrorCode.NONE, None
        try:
            _ensure_valid_update(update, supported, levels, call.version)
            if update.feature in supported:  # one that is not may only be turned off
                levels[update.feature] = update.max_version_level
        except ApiError as error:
            code, message = error.code, error.message
        results.append(UpdatableFeatureResult(feature=update.feature, error_code=code, error_message=message))
    if levels != store.state.features and not request.validate_only:
        with store.change(sync=False) as state:
            state.features = levels
    return UpdateFeaturesResponse(error_message=None, results=results)


def refuse(request: UpdateFeaturesRequest, error: ApiError, call: Call) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=error.code, error_message=error.message)


def _ensure_valid_update(
    update: FeatureUpdateKey, known: Mapping[str, FeatureRange], levels: dict[str, int], version: int
) -> None:
    """Raises ApiError INVALID_UPDATE_VERSION."""
    fault = _find_fault(update, known.get(update.feature), levels, version)
    if fault is not None:
        raise ApiError(f"{update.feature} {update.max_version_level}: {fault}", ErrorCode.INVALID_UPDATE_VERSION)


def _find_fault(
    update: FeatureUpdateKey, supported: FeatureRange | None, levels: dict[str, int], version: int
) -> str | None:
    wanted = update.max_version_level
    kind = update.upgrade_type
    if version == 0:
        kind = SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return f"upgrade type {kind} is not known"
    if supported is None:
        return None if wanted == 0 else "this feature is not supported"
    if not supported.first <= wanted <= supported.last:
        return f"levels {supported.first} to {supported.last} are supported"
    if wanted > 0 and not supported.is_here:
        return "stepdown does not have it"
    current = levels.get(update.feature, supported.finalized)
    if wanted > current and kind != UPGRADE:
        return f"a downgrade cannot lead from {current} to a higher level"
    if wanted < current and kind == UPGRADE:
        return f"the level is {current}; going down has to be asked for"
    if update.feature == METADATA_VERSION and wanted < min(current, LOWEST_LOSSLESS_METADATA_VERSION):
        return "this downgrade could lose metadata"
    return None
