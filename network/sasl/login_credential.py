"""The stored credential that a SCRAM login is checked with."""

from dataclasses import dataclass

from ...protocol.scram import ScramCredential


@dataclass(frozen=True, slots=True)
class LoginCredential:
    """The stored form of the user's password. `is_decoy`: the user does not exist."""

    stored: ScramCredential
    is_decoy: bool = False
