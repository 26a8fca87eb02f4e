"""What the `users` commands ask of a broker, and the answers as plain values. A password itself is never sent."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...protocol.api import ApiKey
from ...protocol.errors import error_name
from ...protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from ...protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from ...protocol.scram import SCRAM_MECHANISMS, salted_password
from ..support.broker_client import BrokerClient
from ..support.failures import fail_for

MECHANISMS = {name: code for code, name in SCRAM_MECHANISMS.items()}
"""By name: the code in requests."""

SALT_BYTES = 24
HINTS = {
    "UNACCEPTABLE_CREDENTIAL": "Names are not empty; iterations are 4096 to 16384.",
    "RESOURCE_NOT_FOUND": "`stepdown users list` shows who has a password.",
    "CLUSTER_AUTHORIZATION_FAILED": "Seeing users takes DESCRIBE on the cluster, changing them ALTER; super.users may.",
}


def known(client: BrokerClient) -> list[tuple[str, str, int]]:
    """(user, mechanism, iterations) of all that have a password."""
    response = client.call(
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, lambda version: DescribeUserScramCredentialsRequest(users=None)
    )
    _fail([("users", response.error_code, response.error_message)])
    return [
        (result.user, SCRAM_MECHANISMS.get(info.mechanism, f"mechanism {info.mechanism}"), info.iterations)
        for result in response.results
        for info in result.credential_infos
    ]


def set_password(client: BrokerClient, user: str, password: str, mechanism: str, iterations: int) -> None:
    """Gives a user a password for a mechanism, or another one."""
    salt = os.urandom(SALT_BYTES)
    upsertion = ScramCredentialUpsertion(
        name=user,
        mechanism=MECHANISMS[mechanism],
        iterations=iterations,
        salt=salt,
        salted_password=salted_password(mechanism, password, salt, iterations),
    )
    _alter(client, AlterUserScramCredentialsRequest(upsertions=[upsertion]))


def remove(client: BrokerClient, user: str, mechanism: str) -> None:
    """Takes a user's password for a mechanism away."""
    deletion = ScramCredentialDeletion(name=user, mechanism=MECHANISMS[mechanism])
    _alter(client, AlterUserScramCredentialsRequest(deletions=[deletion]))


def _alter(client: BrokerClient, request: AlterUserScramCredentialsRequest) -> None:
    response = client.call(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, lambda version: request)
    _fail([(result.user, result.error_code, result.error_message) for result in response.results])


def _fail(results: Sequence[tuple[str, int, str | None]]) -> None:
    fail_for([(name, error_name(code), message or "") for name, code, message in results if code], HINTS)
