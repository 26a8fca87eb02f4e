"""The server's side of SCRAM; `protocol/scram.py` has messages and formulas. Source: Kafka 3.9 `ScramSaslServer`."""

import hmac
import re
import secrets
from collections.abc import Callable

from ...protocol.scram import (
    LEAST_ITERATIONS,
    base64_bytes,
    base64_text,
    digest,
    hmac_of,
    unescape_name,
    xor,
)
from .login_credential import LoginCredential
from .mechanism import Refused, quote_for_log

_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS = r"(?:,[A-Za-z]+=[\x01-\x2b\x2d-\x7f]+)*"
_FIRST = re.compile(
    rf"(?P<gs2>n,(?:a=(?P<wanted>{_NAME}))?,)(?P<bare>n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE}){_EXTENSIONS})"
)
_FINAL = re.compile(
    rf"(?P<bare>c=(?P<gs2>[A-Za-z0-9+/=]+),r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>[A-Za-z0-9+/=]+)"
)
_TOKEN_LOGIN = re.compile(r",tokenauth=true(?:,|$)")


class Scram:
    """One exchange. `credential_of` returns the credential of a user, or a decoy if the user does not exist: both get
    the same answers, and the decoy's user is refused at the last message.

    The first message is kept until the last one comes, so it has to be short.
    """

    most_bytes = 1024

    def __init__(
        self,
        mechanism: str,
        credential_of: Callable[[str], LoginCredential],
        nonce: str | None = None,
    ) -> None:
        self.user: str | None = None
        self.expires_ms: int | None = None
        self._mechanism = mechanism
        self._credential_of = credential_of
        self._own_nonce = nonce or secrets.token_urlsafe(24)
        self._credential: LoginCredential | None = None
        self._name = self._gs2 = self._nonce = self._messages = ""

    def step(self, token: bytes) -> bytes:
        try:
            text = token.decode()
        except UnicodeDecodeError:
            raise Refused("a message that is no text") from None
        return (
            self._answer_first_message(text)
            if self._credential is None
            else self._answer_final_message(text, self._credential)
        )

    def _answer_first_message(self, text: str) -> bytes:
        found = _FIRST.fullmatch(text)
        if found is None:
            raise Refused("no first message of a client")
        if _TOKEN_LOGIN.search(text):
            raise Refused("there are no delegation tokens")
        self._name = unescape_name(found["name"])
        credential = self._credential_of(self._name)
        if found["wanted"] and unescape_name(found["wanted"]) != self._name:
            told = "Authentication failed: Client requested an authorization id that is different from username"
            raise Refused(f"{quote_for_log(self._name)} asks to be {quote_for_log(found['wanted'])}", told)
        stored = credential.stored
        if stored.iterations < LEAST_ITERATIONS:
            raise Refused(f"the password of {quote_for_log(self._name)} is stored with {stored.iterations} iterations")
        self._credential, self._gs2, self._nonce = credential, found["gs2"], found["nonce"] + self._own_nonce
        answer = f"r={self._nonce},s={base64_text(stored.salt)},i={stored.iterations}"
        self._messages = f"{found['bare']},{answer}"
        return answer.encode()

    def _answer_final_message(self, text: str, credential: LoginCredential) -> bytes:
        stored = credential.stored
        found = _FINAL.fullmatch(text)
        if found is None:
            raise Refused("no final message of a client")
        # As in Kafka since 3.8.1: librdkafka before 2.6.1 puts its own nonce before it once more.
        if not found["nonce"].endswith(self._nonce):
            raise Refused("the nonce is not the one that was sent")
        try:
            gs2, proof = base64_bytes(found["gs2"]), base64_bytes(found["proof"])
        except ValueError:
            raise Refused("a message that is not in base64") from None
        if gs2 != self._gs2.encode():
            raise Refused("the channel binding is not the one of the first message")
        messages = f"{self._messages},{found['bare']}".encode()
        signature = hmac_of(self._mechanism, stored.stored_key, messages)
        is_right = len(proof) == len(signature) and hmac.compare_digest(
            digest(self._mechanism, xor(signature, proof)), stored.stored_key
        )
        if credential.is_decoy or not is_right:
            why = "there is no user" if credential.is_decoy else "wrong password of"
            raise Refused(f"{why} {quote_for_log(self._name)}")
        self.user = self._name
        return b"v=" + base64_text(hmac_of(self._mechanism, stored.server_key, messages)).encode()
