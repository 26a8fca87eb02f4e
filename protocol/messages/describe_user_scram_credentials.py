"""DescribeUserScramCredentials (key 50), version 0, flexible in all.

Shows which users have SCRAM credentials (KIP-554).
"""

from collections.abc import Sequence

from ..schema import array, int8, int16, int32, message, string, struct


@struct
class UserName:
    name: str = string()


@message(versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest:
    """Users (null: all)."""

    users: Sequence[UserName] | None = array(UserName, nullable="0+")


@struct
class CredentialInfo:
    mechanism: int = int8()
    iterations: int = int32()


@struct
class DescribeUserScramCredentialsResult:
    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    credential_infos: Sequence[CredentialInfo] = array(CredentialInfo)


@message(versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse:
    """Mechanisms and iterations, per user."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    results: Sequence[DescribeUserScramCredentialsResult] = array(DescribeUserScramCredentialsResult)
