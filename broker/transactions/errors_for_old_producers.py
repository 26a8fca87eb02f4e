"""Maps transaction errors to the codes that older producer versions understand."""

from ...protocol.errors import ApiError, ErrorCode

FIRST_VERSION_WITH_FENCED = 2


def error_code_for_version(error: ApiError, version: int) -> ErrorCode:
    """The code for AddPartitionsToTxn, AddOffsetsToTxn and EndTxn: before v2 there is no PRODUCER_FENCED (KIP-588)."""
    if error.code == ErrorCode.PRODUCER_FENCED and version < FIRST_VERSION_WITH_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error.code
