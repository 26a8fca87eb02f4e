"""DescribeUserScramCredentials, version 0 (KIP-554): which users have SCRAM passwords. None has: nobody authenticates.

Users that are named are not found (91), those named twice are refused (92); of all users (none named) there are none.
"""

from collections import Counter
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from ..network.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(
    broker: "Services", request: DescribeUserScramCredentialsRequest, call: Call
) -> DescribeUserScramCredentialsResponse:
    counts = Counter(user.name for user in request.users or ())
    return DescribeUserScramCredentialsResponse(
        error_message=None, results=[_result(name, count) for name, count in counts.items()]
    )


def refuse(
    request: DescribeUserScramCredentialsRequest, error: ApiError, call: Call
) -> DescribeUserScramCredentialsResponse:
    return DescribeUserScramCredentialsResponse(error_code=error.code, error_message=error.message)


def _result(name: str, count: int) -> DescribeUserScramCredentialsResult:
    if count > 1:
        code, message = ErrorCode.DUPLICATE_RESOURCE, f"user {name} is named more than once"
    else:
        code, message = ErrorCode.RESOURCE_NOT_FOUND, f"user {name} has no SCRAM password"
    return DescribeUserScramCredentialsResult(user=name, error_code=code, error_message=message)
