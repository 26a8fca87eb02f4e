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
    ScramCredentialUpsertion,
)
from ..dispatch.call import Call
from ..security.scram_credentials import Change, Deletion, Upsertion

if TYPE_CHECKING:
    from ..services import Services


async def handle(
    services: "Services", request: AlterUserScramCredentialsRequest, call: Call
) -> AlterUserScramCredentialsResponse:
    upsertions = await call.turn.map(_read_upsertion, request.upsertions)
    changes: list[Change] = [*(Deletion(each.name, each.mechanism) for each in request.deletions), *upsertions]
    errors = await services.scram_credentials.alter_in_turns(changes, call.turn)
    results = await call.turn.map(lambda user: _make_result(user, errors[user]), errors)
    return AlterUserScramCredentialsResponse(results=results)


def refuse(request: AlterUserScramCredentialsRequest, error: ApiError, call: Call) -> AlterUserScramCredentialsResponse:
    users = dict.fromkeys([each.name for each in request.deletions] + [each.name for each in request.upsertions])
    return AlterUserScramCredentialsResponse(results=[_make_result(user, error) for user in users])


def _read_upsertion(asked: ScramCredentialUpsertion) -> Upsertion:
    return Upsertion.of_password(
        asked.name, asked.mechanism, asked.iterations, bytes(asked.salt), bytes(asked.salted_password)
    )


def _make_result(user: str, error: ApiError | None) -> AlterUserScramCredentialsResult:
    if error is None:
        return AlterUserScramCredentialsResult(user=user, error_code=ErrorCode.NONE, error_message=None)
    return AlterUserScramCredentialsResult(user=user, error_code=error.code, error_message=error.message)
