"""What is stored of the passwords of SCRAM users, and how it may change (KIP-554).

A client sends the salted password, never the password, and nothing of what is stored is ever told.
Source: Kafka 3.9 `ScramControlManager`.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...network.sasl.login_credential import LoginCredential
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.scram import LEAST_ITERATIONS, SCRAM_MECHANISMS, ScramCredential, credential_of, salt_password
from ...storage.metadata.metadata_store import MetadataStore
from .decoy_credentials import DecoyCredentials

MOST_ITERATIONS = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsertion:
    """A password to set: salted, by the code of its mechanism."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


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
        """What is stored of a user, or a decoy. Both cost the same, so that time does not tell them apart."""
        stored = self._store().state.scram_credentials
        decoy = self._decoys.make(user, mechanism, stored)
        known = stored.get((user, mechanism))
        return LoginCredential(decoy, is_decoy=True) if known is None else LoginCredential(known)

    def find(self, user: str, mechanism: str) -> ScramCredential | None:
        return self._store().state.scram_credentials.get((user, mechanism))

    def describe(self) -> Mapping[str, Sequence[tuple[int, int]]]:
        """Mechanism code and iterations by user."""
        codes = {name: code for code, name in SCRAM_MECHANISMS.items()}
        users: dict[str, list[tuple[int, int]]] = {}
        for (user, mechanism), credential in sorted(self._store().state.scram_credentials.items()):
            users.setdefault(user, []).append((codes[mechanism], credential.iterations))
        return users

    def alter(self, changes: Sequence[Change], *, sync: bool = False) -> dict[str, ApiError | None]:
        """By user what went wrong, None where all went well. A user who is named twice is not changed at all. The
        changes are on the disk with `sync`, else the caller sees to that.

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
            errors[change.user] = self._fault(change)
            if errors[change.user] is None:
                accepted[change.user] = change
        if accepted:
            with self._store().change(sync=sync) as state:
                for change in accepted.values():
                    key = change.user, SCRAM_MECHANISMS[change.mechanism]
                    if isinstance(change, Deletion):
                        del state.scram_credentials[key]
                    else:
                        state.scram_credentials[key] = credential_of(
                            key[1], change.salt, change.salted_password, change.iterations
                        )
        return errors

    def set_passwords(self, users: Sequence[tuple[str, str]]) -> None:
        """Has users log in by these passwords, by each mechanism. Raises: DiskFault."""
        for code, mechanism in SCRAM_MECHANISMS.items():
            salt = secrets.token_bytes(16)
            self.alter(
                [
                    Upsertion(
                        user=name,
                        mechanism=code,
                        iterations=LEAST_ITERATIONS,
                        salt=salt,
                        salted_password=salt_password(mechanism, password, salt, LEAST_ITERATIONS),
                    )
                    for name, password in users
                ],
                sync=True,
            )

    def _fault(self, change: Change) -> ApiError | None:
        if not change.user:
            return ApiError("Username must not be empty", ErrorCode.UNACCEPTABLE_CREDENTIAL)
        if change.mechanism not in SCRAM_MECHANISMS:
            return ApiError("Unknown SCRAM mechanism", ErrorCode.UNSUPPORTED_SASL_MECHANISM)
        if isinstance(change, Upsertion):
            if change.iterations < LEAST_ITERATIONS:
                return ApiError("Too few iterations", ErrorCode.UNACCEPTABLE_CREDENTIAL)
            if change.iterations > MOST_ITERATIONS:
                return ApiError("Too many iterations", ErrorCode.UNACCEPTABLE_CREDENTIAL)
            if not change.salted_password:
                return ApiError("The salted password must not be empty", ErrorCode.UNACCEPTABLE_CREDENTIAL)
        elif self.find(change.user, SCRAM_MECHANISMS[change.mechanism]) is None:
            return ApiError("Attempt to delete a user credential that does not exist", ErrorCode.RESOURCE_NOT_FOUND)
        return None
