"""AlterUserScramCredentials (key 51), version 0, flexible in all: sets or removes SCRAM credentials (KIP-554)."""

from collections.abc import Sequence

from ..schema import array, binary, int8, int16, int32, message, string, struct


@struct
class ScramCredentialDeletion:
    name: str = string()
    mechanism: int = int8()


@struct
class ScramCredentialUpsertion:
    name: str = string()
    mechanism: int = int8()
    iterations: int = int32()
    salt: bytes = binary()
    salted_password: bytes = binary()


@message(versions="0", flexible="0+")
class AlterUserScramCredentialsRequest:
    """Credentials to remove and to set."""

    deletions: Sequence[ScramCredentialDeletion] = array(ScramCredentialDeletion)
    upsertions: Sequence[ScramCredentialUpsertion] = array(ScramCredentialUpsertion)


@struct
class AlterUserScramCredentialsResult:
    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@message(versions="0", flexible="0+")
class AlterUserScramCredentialsResponse:
    """How that went, per user."""

    throttle_time_ms: int = int32()
    results: Sequence[AlterUserScramCredentialsResult] = array(AlterUserScramCredentialsResult)
