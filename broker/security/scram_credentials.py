"""The stored credentials of SCRAM users, and their changes (KIP-554).

A client sends the salted password, never the password. Stored keys are never sent to anybody. Source: Kafka 3.9
`ScramControlManager`.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...network.sasl.login_credential import LoginCredential
from ...network.turn import Turn
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.scram import LEAST_ITERATIONS, SCRAM_MECHANISMS, ScramCredential, credential_of, salt_password
from ...storage.metadata.metadata_store import MetadataStore
from ...storage.metadata.preencoded_changes import PreencodedChanges
from .decoy_credentials import DecoyCredentials

MOST_ITERATIONS = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsertion:
    """A password to set, by the code of its mechanism. `credential` is None for no password or no such mechanism."""

    user: str
    mechanism: int
    iterations: int
    credential: ScramCredential | None

    @classmethod
    def of_password(cls, user: str, mechanism: int, iterations: int, salt: bytes, salted: bytes) -> "Upsertion":
        """Computes the credential of a salted password, which takes 20 µs."""
        name = SCRAM_MECHANISMS.get(mechanism)
        credential = credential_of(name, salt, salted, iterations) if name and salted else None
        return cls(user=user, mechanism=mechanism, iterations=iterations, credential=credential)


@dataclass(frozen=True, slots=True)
class Deletion:
    """A password to remove."""

    user: str
    mechanism: int


Change = Upsertion | Deletion


class ScramCredentials:
    """The credentials of one broker."""

    def __init__(self, store: Callable[[], MetadataStore]) -> None:
        self._store = store
        self._decoys = DecoyCredentials()

    def find_for_login(self, user: str, mechanism: str) -> LoginCredential:
        """The stored credential of a user, or a decoy.

        Both take the same time, so that time does not show which it is.
        """
        stored = self._store().state.scram_credentials
        decoy = self._decoys.make(user, mechanism, stored)
        known = stored.get((user, mechanism))
        return LoginCredential(decoy, is_decoy=True) if known is None else LoginCredential(known)

    def find(self, user: str, mechanism: str) -> ScramCredential | None:
        return self._store().state.scram_credentials.get((user, mechanism))

    def users(self) -> list[str]:
        """The names of all users with a password."""
        return sorted({user for user, _ in self._store().state.scram_credentials})

    def describe(self, user: str) -> list[tuple[int, int]]:
        """Mechanism code and iterations of each password of the user."""
        known = ((code, self.find(user, mechanism)) for code, mechanism in SCRAM_MECHANISMS.items())
        return [(code, credential.iterations) for code, credential in known if credential is not None]

    async def alter_in_turns(self, changes: Sequence[Change], turn: Turn) -> dict[str, ApiError | None]:
        """As `alter`, but encodes the changes in turns before it writes them. Raises: DiskFault."""
        encoded = PreencodedChanges()
        credentials = {
            (each.user, SCRAM_MECHANISMS[each.mechanism]): each.credential
            for each in changes
            if isinstance(each, Upsertion) and each.credential is not None
        }
        for _ in self._store().preencode_scram_credentials(credentials, encoded):
            await turn.next()
        return self.alter(changes, encoded=encoded)

    def alter(
        self, changes: Sequence[Change], *, sync: bool = False, encoded: PreencodedChanges | None = None
    ) -> dict[str, ApiError | None]:
        """Applies the changes; returns the error of each user, None for success.

        A user who is named twice is not changed at all.

        With `sync` the changes are on the disk when it returns; else the caller syncs.

        Raises: DiskFault.
        """
        errors: dict[str, ApiError | None] = {}
        accepted: dict[str, Change] = {}
        for change in changes:
            if errors.get(change.user) is not None:
                continue
            if accepted.pop(change.user, None) is not None:
                errors[change.user] = ApiError(
                    "A user credential cannot be altered twice in the same request", ErrorCode.DUPLICATE_RESOURCE
                )
                continue
            errors[change.user] = self._find_fault(change)
            if errors[change.user] is None:
                accepted[change.user] = change
        if accepted:
            with self._store().change(sync=sync, encoded=encoded) as state:
                passwords = dict(state.scram_credentials)
                for change in accepted.values():
                    key = change.user, SCRAM_MECHANISMS[change.mechanism]
                    if isinstance(change, Upsertion) and change.credential is not None:
                        passwords[key] = change.credential
                    else:
                        del passwords[key]
                state.scram_credentials = passwords
        return errors

    def set_passwords(self, users: Sequence[tuple[str, str]]) -> None:
        """Sets the passwords of users, for each mechanism. Raises: DiskFault."""
        for code, mechanism in SCRAM_MECHANISMS.items():
            salt = secrets.token_bytes(16)
            self.alter(
                [
                    Upsertion.of_password(
                        name, code, LEAST_ITERATIONS, salt, salt_password(mechanism, password, salt, LEAST_ITERATIONS)
                    )
                    for name, password in users
                ],
                sync=True,
            )

    def _find_fault(self, change: Change) -> ApiError | None:
        if not change.user:
            return ApiError("Username must not be empty", ErrorCode.UNACCEPTABLE_CREDENTIAL)
        if change.mechanism not in SCRAM_MECHANISMS:
            return ApiError("Unknown SCRAM mechanism", ErrorCode.UNSUPPORTED_SASL_MECHANISM)
        if isinstance(change, Upsertion):
            if change.iterations < LEAST_ITERATIONS:
                return ApiError("Too few iterations", ErrorCode.UNACCEPTABLE_CREDENTIAL)
            if change.iterations > MOST_ITERATIONS:
                return ApiError("Too many iterations", ErrorCode.UNACCEPTABLE_CREDENTIAL)
            if change.credential is None:
                return ApiError("The salted password must not be empty", ErrorCode.UNACCEPTABLE_CREDENTIAL)
        elif self.find(change.user, SCRAM_MECHANISMS[change.mechanism]) is None:
            return ApiError("Attempt to delete a user credential that does not exist", ErrorCode.RESOURCE_NOT_FOUND)
        return None
