"""DescribeUserScramCredentials, version 0 (KIP-554): who has SCRAM passwords, by which mechanism, with how many
iterations; nothing else of what is stored.

Users that are named and have none are not found (91), those named twice are refused (92); null asks for all.
"""

from collections import Counter
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


async def handle(
    services: "Services", request: DescribeUserScramCredentialsRequest, call: Call
) -> DescribeUserScramCredentialsResponse:
    credentials = services.scram_credentials
    names = Counter([user.name for user in request.users] if request.users else credentials.users())
    results = []
    for name, count in names.items():
        if count > 1:
            results.append(_make_failure(name, ErrorCode.DUPLICATE_RESOURCE, f"user {name} is named more than once"))
        elif not (known := credentials.describe(name)):
            results.append(_make_failure(name, ErrorCode.RESOURCE_NOT_FOUND, f"user {name} has no SCRAM password"))
        else:
            infos = [CredentialInfo(mechanism=code, iterations=iterations) for code, iterations in known]
            results.append(
                DescribeUserScramCredentialsResult(
                    user=name, error_code=ErrorCode.NONE, error_message=None, credential_infos=infos
                )
            )
        await call.turn.next()
    return DescribeUserScramCredentialsResponse(error_message=None, results=results)


def refuse(
    request: DescribeUserScramCredentialsRequest, error: ApiError, call: Call
) -> DescribeUserScramCredentialsResponse:
    return DescribeUserScramCredentialsResponse(error_code=error.code, error_message=error.message)


def _make_failure(name: str, code: ErrorCode, message: str) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(user=name, error_code=code, error_message=message)
