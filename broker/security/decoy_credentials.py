"""Makes SCRAM credentials for users that do not exist: salt and iterations look like those of existing users.

Without them a stranger could find out which users exist (Kafka refuses unknown users with the first message). A decoy
has to be the same at each try, so it is made from the user's name and a secret. It has to look like a stored
credential, so a stored one is its model.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping

from ...protocol.scram import LEAST_ITERATIONS, ScramCredential, digest

Credentials = Mapping[tuple[str, str], ScramCredential]
"""The credentials by user and mechanism; each change makes a new mapping."""

SALT_BYTES = 16
_PURPOSE = b"stepdown: a salt for a user that does not exist"


class DecoyCredentials:
    """Makes decoys. The model is the stored credential of the first user by name.

    Its key is also the secret, so that decoys stay the same over restarts. Without a stored credential the secret is
    random.
    """

    def __init__(self) -> None:
        self._stored: Credentials = {}
        self._models: dict[str, tuple[tuple[str, str], ScramCredential] | None] = {}
        self._secret = secrets.token_bytes(32)

    def make(self, user: str, mechanism: str, stored: Credentials) -> ScramCredential:
        """The decoy of a user; no password fits it."""
        model = self._find_model(mechanism, stored)
        secret = self._secret if model is None else hashlib.sha256(_PURPOSE + model.server_key).digest()
        seed = hmac.digest(secret, user.encode(), "sha512")
        return ScramCredential(
            salt=_stretch(seed, SALT_BYTES if model is None else len(model.salt)),
            stored_key=digest(mechanism, seed),
            server_key=digest(mechanism, seed[::-1]),
            iterations=LEAST_ITERATIONS if model is None else model.iterations,
        )

    def _find_model(self, mechanism: str, stored: Credentials) -> ScramCredential | None:
        """The stored credential that decoys of the mechanism imitate, None if there is none.

        It is chosen again only after it was changed or removed; only that searches all credentials.
        """
        if stored is not self._stored:
            self._stored = stored
            self._models = {
                name: kept for name, kept in self._models.items() if kept and stored.get(kept[0]) is kept[1]
            }
        if mechanism not in self._models:
            keys = [known for known in stored if known[1] == mechanism]
            self._models[mechanism] = (min(keys), stored[min(keys)]) if keys else None
        found = self._models[mechanism]
        return None if found is None else found[1]


def _stretch(seed: bytes, length: int) -> bytes:
    return hashlib.shake_256(seed).digest(length)
