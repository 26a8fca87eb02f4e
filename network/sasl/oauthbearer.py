"""OAUTHBEARER (RFC 7628, KIP-255, KIP-768): a token that an issuer has signed, checked with the issuer's public keys.

    n,[a=user],^Aauth=Bearer TOKEN^A[extension=value^A …]^A           ^A is byte 1

A token needs a signature by a key of the JWKS file with an algorithm of that key; the claims `exp`, `iat` and that of
the user; and the expected audience and issuer. The answer to a refused token is `{"status":"invalid_token"}`; the
exchange fails at the client's next message. PyJWT checks the tokens. Source: Kafka 3.9 `OAuthBearerSaslServer`,
`OAuthBearerClientInitialResponse`, `ValidatorAccessTokenValidator`.
"""

import base64
import contextlib
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...config.listener_security import OAuthSettings
from ...protocol.errors import DiskFault
from ...protocol.scram import unescape_name
from ..clock import Clock
from ..file_stamp import file_stamp
from .mechanism import Refused, quote_for_log

if TYPE_CHECKING:
    import jwt

ALGORITHMS_OF_TYPE = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}
"""The algorithms by `kty`. Only those with public keys: a file with a shared key would be a password."""
ALGORITHMS = tuple(name for names in ALGORITHMS_OF_TYPE.values() for name in names)
MOST_BYTES = 1 << 20
INVALID_TOKEN = b'{"status":"invalid_token"}'

_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_FIRST = re.compile(rf"n,(?:a=(?P<wanted>{_NAME}))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01")
_AUTH = re.compile(r"(?i:bearer) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")

log = logging.getLogger(__name__)


class TokenChecker(Protocol):
    """Checks tokens."""

    def check_token(self, token: str) -> dict[str, Any]:
        """Returns the claims of a valid token. Raises: Refused."""


class OAuthBearer:
    """One exchange."""

    most_bytes = 64 * 1024

    def __init__(self, tokens: TokenChecker, settings: OAuthSettings, clock: Clock) -> None:
        self._clock = clock
        self.user: str | None = None
        self.expires_ms: int | None = None
        self._tokens = tokens
        self._settings = settings
        self._refusal: str | None = None

    def step(self, token: bytes) -> bytes:
        if self._refusal is not None:
            raise Refused(self._refusal, INVALID_TOKEN.decode())
        wanted, bearer = _parse_first_message(token)
        try:
            claims = self._tokens.check_token(bearer)
            user = claims.get(self._settings.subject_claim)
            if not isinstance(user, str) or not user.strip() or not is_encodable_text(user):
                raise Refused(f"a token without {self._settings.subject_claim}")
        except Refused as refusal:
            self._refusal = str(refusal)
            return INVALID_TOKEN
        if wanted and wanted != user:
            told = "Authentication failed: Client requested an authorization id that is different from the token's"
            raise Refused(f"{quote_for_log(user)} asks to be {quote_for_log(wanted)}", told)
        self.user, self.expires_ms = user, self._session_end_ms(claims["exp"])
        return b""

    def _session_end_ms(self, expires_s: float) -> int:
        """When the session ends: when the token expires, or after the clock skew if it is accepted only because of
        that.

        Kafka ends the session of such a token with its first request.
        """
        if expires_s <= self._clock.now_ms() / 1000:
            expires_s += self._settings.clock_skew_s
        return int(expires_s * 1000)


def _parse_first_message(token: bytes) -> tuple[str, str]:
    """The authorization id and the token in a client's first message. Raises: Refused."""
    found = _FIRST.fullmatch(token.decode(errors="replace"))
    if found is None:
        raise Refused("no first message of a client")
    pairs = dict(pair.split("=", 1) for pair in found["pairs"].split("\x01") if pair)
    auth = _AUTH.fullmatch(pairs.get("auth", ""))
    if auth is None:
        raise Refused("no bearer token")
    return unescape_name(found["wanted"] or ""), auth["token"]


def is_encodable_text(name: str) -> bool:
    """Whether UTF-8 can encode it: JSON can hold half a surrogate pair, UTF-8 cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


class SignedTokens:
    """Accepts tokens that are signed by a key of a JWKS file; reads the file again when it changes."""

    def __init__(self, settings: OAuthSettings, clock: Clock) -> None:
        """Raises: DiskFault when the keys cannot be read."""
        self._settings = settings
        self._clock = clock
        self._path = settings.key_file or ""
        self._stamp = file_stamp(self._path)
        self._keys = read_keys(self._path)
        if not settings.audiences:
            log.warning("stepdown.oauthbearer.any.audience is on: a token that was made for another service logs in")

    def check_token(self, token: str) -> dict[str, Any]:
        import jwt

        fault: Exception | None = None
        for key, algorithm in self._keys_that_may_match(token):
            try:
                claims = self._decode(token, key, algorithm)
            except jwt.InvalidSignatureError as wrong_key:
                fault = wrong_key
                continue
            except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as invalid:
                fault = invalid
                break
            check_times(claims, self._clock.now_ms() / 1000, self._settings.clock_skew_s)
            return claims
        raise Refused(f"a token that is not valid: {type(fault).__name__}")

    def _decode(self, token: str, key: "jwt.PyJWK", algorithm: str) -> dict[str, Any]:
        import jwt

        claims: dict[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=[algorithm],
            audience=self._settings.audiences or None,
            issuer=self._settings.issuer,
            options={
                "require": ["exp", "iat"],
                "verify_aud": bool(self._settings.audiences),
                "verify_exp": False,  # `check_times` does, by the broker's clock
                "verify_iat": False,
                "verify_nbf": False,
            },
        )
        return claims

    def _keys_that_may_match(self, token: str) -> "list[tuple[jwt.PyJWK, str]]":
        """The keys that may have signed the token, by its `kid` and `alg`. Without `kid`, that may be any key.

        Raises: Refused if there is none.
        """
        import jwt

        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, RecursionError) as fault:
            raise Refused(f"a token that is not valid: {type(fault).__name__}") from None
        self._reload_changed_key_file()
        kid, algorithm = header.get("kid"), str(header.get("alg"))
        candidates = [
            (key.by_algorithm[algorithm], algorithm)
            for key in self._keys
            if algorithm in key.by_algorithm and (kid is None or key.key_id in (None, kid))
        ]
        if not candidates:
            raise Refused(
                f"a token of {quote_for_log(algorithm)} with a key that is not known, {quote_for_log(str(kid))}"
            )
        return candidates

    def _reload_changed_key_file(self) -> None:
        stamp = file_stamp(self._path)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._keys = read_keys(self._path)
            except DiskFault as fault:
                log.error("%s; the keys that were read before stay in use", fault)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key of a JWKS, parsed for each algorithm that it may be used with. `key_id`: its `kid`, or None."""

    key_id: str | None
    by_algorithm: "Mapping[str, jwt.PyJWK]"


def read_keys(path: str) -> "list[SigningKey]":
    """The keys in a JWKS file. Raises: DiskFault."""
    try:
        import jwt.algorithms

        if not jwt.algorithms.has_crypto:
            raise ImportError
    except ImportError:
        raise DiskFault("OAUTHBEARER needs a library: pip install '.[security]' where stepdown's sources are") from None
    try:
        with Path(path).open("rb") as file:
            keys = parse_signing_keys(file.read(MOST_BYTES))
    except OSError as fault:
        raise DiskFault(f"{path}: the issuer's keys cannot be read: {fault.strerror}") from None
    except (ValueError, RecursionError):
        raise DiskFault(f"{path} holds no set of keys (JWKS)") from None
    if not keys:
        raise DiskFault(f"{path} holds no key to check signatures with {', '.join(ALGORITHMS)}")
    return keys


def parse_signing_keys(text: bytes) -> list[SigningKey]:
    """The keys of a JWKS (RFC 7517) that may check signatures by their `use` and `key_ops`.

    A key with `alg` is for that algorithm only, another one for all of its type. Keys of unknown types are skipped.
    Raises: ValueError if it is no JWKS.
    """
    document = json.loads(text)
    found = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(found, list):
        raise ValueError("no list of keys")
    return [key for data in found if isinstance(data, dict) and (key := _parse_signing_key(data)).by_algorithm]


def _parse_signing_key(data: dict[str, Any]) -> SigningKey:
    import jwt

    by_algorithm: dict[str, jwt.PyJWK] = {}
    operations = data.get("key_ops")
    is_for_signatures = data.get("use", "sig") == "sig" and (
        operations is None or (isinstance(operations, list) and "verify" in operations)
    )
    if is_for_signatures:
        algorithm = data.get("alg")
        for name in ALGORITHMS_OF_TYPE.get(str(data.get("kty")), ()):
            if algorithm in (None, name):
                with contextlib.suppress(jwt.PyJWTError, ValueError, TypeError):
                    by_algorithm[name] = jwt.PyJWK(data, algorithm=name)
    key_id = data.get("kid")
    return SigningKey(key_id if isinstance(key_id, str) else None, by_algorithm)


class UnsecuredTokens:
    """Accepts any token that has not expired, even unsigned ones. For tests."""

    def __init__(self, settings: OAuthSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        log.warning(
            "stepdown.oauthbearer.unsecured is on: any token is taken, so anybody may be any user of OAUTHBEARER"
        )

    def check_token(self, token: str) -> dict[str, Any]:
        try:
            body = token.split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        except (ValueError, IndexError, RecursionError):
            raise Refused("a token that cannot be read") from None
        if not isinstance(claims, dict):
            raise Refused("a token that cannot be read")
        check_times(claims, self._clock.now_ms() / 1000, self._settings.clock_skew_s)
        return claims


def check_times(claims: dict[str, Any], now_s: float, skew_s: int) -> None:
    """Raises: Refused for a token that has expired or is not valid yet."""
    for name in ("exp", "iat", "nbf"):
        value = claims.get(name)
        if value is None and name != "exp":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 42:
            raise Refused(f"a token whose {name} is no time")
        if name == "exp" and value + skew_s <= now_s:
            raise Refused("a token that has expired")
        if name != "exp" and value - skew_s > now_s:
            raise Refused("a token that is not valid yet")
