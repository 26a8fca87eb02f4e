"""AlterUserScramCredentials, version 0 (KIP-554): sets and removes the SCRAM passwords of users.

A user succeeds or fails for itself, one who is named twice is refused (92); all that succeed are on the disk, by one
write, when the answer goes out.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from ..dispatch.call import Call
from ..security.scram_credentials import Deletion, Upsertion

if TYPE_CHECKING:
    from ..services import Services


def handle(
    broker: "Services", request: AlterUserScramCredentialsRequest, call: Call
) -> AlterUserScramCredentialsResponse:
    changes = [Deletion(each.name, each.mechanism) for each in request.deletions] + [
        Upsertion(
            user=each.name,
            mechanism=each.mechanism,
            iterations=each.iterations,
            salt=bytes(each.salt),
            salted_password=bytes(each.salted_password),
        )
        for each in request.upsertions
    ]
    errors = broker.scram_credentials.alter(changes)
    return AlterUserScramCredentialsResponse(results=[_result(user, error) for user, error in errors.items()])


def refuse(request: AlterUserScramCredentialsRequest, error: ApiError, call: Call) -> AlterUserScramCredentialsResponse:
    users = dict.fromkeys([each.name for each in request.deletions] + [each.name for each in request.upsertions])
    return AlterUserScramCredentialsResponse(results=[_result(user, error) for user in users])


def _result(user: str, error: ApiError | None) -> AlterUserScramCredentialsResult:
    if error is None:
        return AlterUserScramCredentialsResult(user=user, error_code=ErrorCode.NONE, error_message=None)
    return AlterUserScramCredentialsResult(user=user, error_code=error.code, error_message=error.message)
