"""SCRAM credentials of users; passwords themselves are never sent."""

from __future__ import annotations

import os

from ...protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from ...protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from ...protocol.scram import SCRAM_MECHANISMS, salt_password
from ..errors import raise_if_error
from ..operation import Operation, ask
from .outcome import Outcome, outcome_of

MECHANISMS = {name: code for code, name in SCRAM_MECHANISMS.items()}
"""The codes in requests, by name."""

SALT_BYTES = 24
DEFAULT_ITERATIONS = 4096


def describe_users() -> Operation[list[tuple[str, str, int]]]:
    """(user, mechanism, iterations) of all that have a password. Raises: KafkaError."""
    response = yield from ask(DescribeUserScramCredentialsRequest(users=None))
    raise_if_error("users", response)
    return [
        (result.user, SCRAM_MECHANISMS.get(info.mechanism, f"mechanism {info.mechanism}"), info.iterations)
        for result in response.results
        for info in result.credential_infos
    ]


def set_password(
    user: str, password: str, mechanism: str, iterations: int = DEFAULT_ITERATIONS
) -> Operation[list[Outcome]]:
    """Sets or replaces a user's password for a mechanism."""
    salt = os.urandom(SALT_BYTES)
    upsertion = ScramCredentialUpsertion(
        name=user,
        mechanism=MECHANISMS[mechanism],
        iterations=iterations,
        salt=salt,
        salted_password=salt_password(mechanism, password, salt, iterations),
    )
    return (yield from _alter_credentials(AlterUserScramCredentialsRequest(upsertions=[upsertion])))


def remove_password(user: str, mechanism: str) -> Operation[list[Outcome]]:
    """Removes a user's password for a mechanism."""
    deletion = ScramCredentialDeletion(name=user, mechanism=MECHANISMS[mechanism])
    return (yield from _alter_credentials(AlterUserScramCredentialsRequest(deletions=[deletion])))


def _alter_credentials(request: AlterUserScramCredentialsRequest) -> Operation[list[Outcome]]:
    response = yield from ask(request)
    return [outcome_of(result.user, result) for result in response.results]
