"""OAUTHBEARER (RFC 7628, KIP-255, KIP-768): a token that an issuer has signed, checked with the issuer's public keys.

    n,[a=user],^Aauth=Bearer TOKEN^A[extension=value^A …]^A           ^A is byte 1

A token has to have a signature by one of the keys in the JWKS file, with the algorithm of that key and none without
one; `exp`, `iat` and the user's claim; the audience and issuer that are expected. To a token that is refused the answer
is `{"status":"invalid_token"}`, and the exchange fails with the client's next message. PyJWT checks the tokens.
Source: Kafka 3.9 `OAuthBearerSaslServer`, `OAuthBearerClientInitialResponse`, `ValidatorAccessTokenValidator`.
"""

import base64
import json
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ....config.listener_security import OAuthSettings
from ....protocol.errors import DiskFault
from ....protocol.scram import unescaped
from ...scheduling.clock import Clock
from ..file_stamp import file_stamp
from .mechanism import Refused, shown

if TYPE_CHECKING:
    import jwt

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Those with a public key: with a shared one the file of keys would be a password."""
MOST_BYTES = 1 << 20
INVALID_TOKEN = b'{"status":"invalid_token"}'

_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_FIRST = re.compile(rf"n,(?:a=(?P<wanted>{_NAME}))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01")
_AUTH = re.compile(r"(?i:bearer) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")

log = logging.getLogger(__name__)


class Tokens(Protocol):
    """Checks tokens."""

    def claims(self, token: str) -> dict[str, Any]:
        """What a token says. Raises: Refused."""


class OAuthBearer:
    """One exchange."""

    most_bytes = 64 * 1024

    def __init__(self, tokens: Tokens, settings: OAuthSettings) -> None:
        self.user: str | None = None
        self.expires_ms: int | None = None
        self._tokens = tokens
        self._settings = settings
        self._refusal: str | None = None

    def step(self, token: bytes) -> bytes:
        if self._refusal is not None:
            raise Refused(self._refusal, INVALID_TOKEN.decode())
        wanted, bearer = _parsed(token)
        try:
            claims = self._tokens.claims(bearer)
            user = claims.get(self._settings.subject_claim)
            if not isinstance(user, str) or not user.strip() or not is_text(user):
                raise Refused(f"a token without {self._settings.subject_claim}")
        except Refused as refusal:
            self._refusal = str(refusal)
            return INVALID_TOKEN
        if wanted and wanted != user:
            told = "Authentication failed: Client requested an authorization id that is different from the token's"
            raise Refused(f"{shown(user)} asks to be {shown(wanted)}", told)
        self.user, self.expires_ms = user, int(claims["exp"] * 1000)
        return b""


def _parsed(token: bytes) -> tuple[str, str]:
    """The authorization id and the token in a client's first message. Raises: Refused."""
    found = _FIRST.fullmatch(token.decode(errors="replace"))
    if found is None:
        raise Refused("no first message of a client")
    pairs = dict(pair.split("=", 1) for pair in found["pairs"].split("\x01") if pair)
    auth = _AUTH.fullmatch(pairs.get("auth", ""))
    if auth is None:
        raise Refused("no bearer token")
    return unescaped(found["wanted"] or ""), auth["token"]


def is_text(name: str) -> bool:
    """Not so a half of a surrogate pair, which JSON can hold and nothing that is written in UTF-8 can."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


class SignedTokens:
    """Tokens that one of the keys in a JWKS file has signed; the file is read again when it changes."""

    def __init__(self, settings: OAuthSettings, clock: Clock) -> None:
        """Raises: DiskFault when the keys cannot be read."""
        self._settings = settings
        self._clock = clock
        self._path = settings.key_file or ""
        self._stamp = file_stamp(self._path)
        self._keys = self._read()

    def claims(self, token: str) -> dict[str, Any]:
        import jwt

        key = self._key_of(token)
        settings = self._settings
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm_name],
                audience=settings.audiences or None,
                issuer=settings.issuer,
                options={
                    "require": ["exp", "iat"],
                    "verify_aud": bool(settings.audiences),
                    "verify_exp": False,  # below, by the broker's clock
                    "verify_iat": False,
                    "verify_nbf": False,
                },
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as fault:
            raise Refused(f"a token that is not valid: {type(fault).__name__}") from None
        check_times(claims, self._clock.now_ms() / 1000, settings.clock_skew_s)
        return claims

    def _key_of(self, token: str) -> "jwt.PyJWK":
        import jwt

        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, RecursionError) as fault:
            raise Refused(f"a token that is not valid: {type(fault).__name__}") from None
        stamp = file_stamp(self._path)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._keys = self._read()
            except DiskFault as fault:
                log.error("%s; the keys that were read before stay in use", fault)
        kid, algorithm = header.get("kid"), header.get("alg")
        for key in self._keys:
            if key.algorithm_name == algorithm and (kid is None or key.key_id in (None, kid)):
                return key
        raise Refused(f"a token of {shown(str(algorithm))} with a key that is not known, {shown(str(kid))}")

    def _read(self) -> "list[jwt.PyJWK]":
        try:
            import jwt
            import jwt.algorithms

            if not jwt.algorithms.has_crypto:
                raise ImportError
        except ImportError:
            raise DiskFault(
                "OAUTHBEARER needs a library: pip install '.[security]' where stepdown's sources are"
            ) from None
        try:
            with Path(self._path).open("rb") as file:
                found = jwt.PyJWKSet.from_json(file.read(MOST_BYTES).decode()).keys
        except OSError as fault:
            raise DiskFault(f"{self._path}: the issuer's keys cannot be read: {fault.strerror}") from None
        except (jwt.PyJWTError, ValueError, AttributeError, TypeError):
            raise DiskFault(f"{self._path} holds no set of keys (JWKS)") from None
        keys = [key for key in found if key.algorithm_name in ALGORITHMS]
        if not keys:
            raise DiskFault(f"{self._path} holds no key for {', '.join(ALGORITHMS)}")
        return keys


class UnsecuredTokens:
    """Takes any token that has not expired, also one that nobody has signed. For tests."""

    def __init__(self, settings: OAuthSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        log.warning(
            "stepdown.oauthbearer.unsecured is on: any token is taken, so anybody may be any user of OAUTHBEARER"
        )

    def claims(self, token: str) -> dict[str, Any]:
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
