"""Which keys of a JWKS may check which tokens, and how long a session lasts."""

import json
import logging
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from stepdown.config import ConfigError, load
from stepdown.config.listener_security import OAuthSettings
from stepdown.network.sasl.mechanism import Refused
from stepdown.network.sasl.oauthbearer import OAuthBearer, SignedTokens
from stepdown.protocol.errors import DiskFault
from support.clock import ManualClock

ONE, OTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
CURVE = ec.generate_private_key(ec.SECP384R1())
NOW_S = 1_700_000_000
PUBLIC: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(ONE.public_key()))
PUBLIC.pop("key_ops", None)


def settings(file: Path, audiences: tuple[str, ...] = ("kafka",)) -> OAuthSettings:
    return OAuthSettings(
        key_file=str(file),
        audiences=audiences,
        issuer=None,
        clock_skew_s=30,
        subject_claim="sub",
        scope_claim="scope",
        unsecured=False,
    )


def tokens(tmp_path: Path, *keys: dict[str, Any], audiences: tuple[str, ...] = ("kafka",)) -> SignedTokens:
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps({"keys": keys}))
    return SignedTokens(settings(file, audiences), ManualClock(NOW_S * 1000))


def token(key: Any = ONE, algorithm: str = "RS256", kid: str | None = None, **claims: object) -> str:
    body = {"sub": "carol", "iat": NOW_S, "exp": NOW_S + 60, "aud": "kafka"} | claims
    return jwt.encode(body, key, algorithm, headers=None if kid is None else {"kid": kid})


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"use": "sig"},
        {"key_ops": ["verify"]},
        {"kid": "1", "use": "sig", "key_ops": ["sign", "verify"], "alg": "RS256"},
    ],
    ids=["bare", "use", "key_ops", "all"],
)
def test_a_key_for_signatures_checks_tokens(tmp_path: Path, more: dict[str, Any]) -> None:
    assert tokens(tmp_path, PUBLIC | more).check_token(token(kid="1"))["sub"] == "carol"


@pytest.mark.parametrize(
    "more",
    [{"use": "enc"}, {"key_ops": ["encrypt"]}, {"key_ops": []}, {"key_ops": "verify"}, {"use": ""}],
    ids=str,
)
def test_a_key_for_something_else_checks_none(tmp_path: Path, more: dict[str, Any]) -> None:
    """A key that the issuer has for encryption checked signatures, too."""
    with pytest.raises(DiskFault, match="no key to check signatures with"):
        tokens(tmp_path, PUBLIC | more)


def test_a_key_with_an_algorithm_is_for_that_one_alone(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        tokens(tmp_path, PUBLIC | {"alg": "RS256"}).check_token(token(algorithm="PS256"))


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS384"])
def test_a_key_without_algorithm_is_for_all_of_its_type(tmp_path: Path, algorithm: str) -> None:
    assert tokens(tmp_path, PUBLIC).check_token(token(algorithm=algorithm))["sub"] == "carol"


def test_a_curve_is_for_its_own_algorithm(tmp_path: Path) -> None:
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(CURVE.public_key()))
    assert tokens(tmp_path, public).check_token(token(CURVE, "ES384"))["sub"] == "carol"


def test_a_token_without_kid_may_be_of_any_key(tmp_path: Path) -> None:
    """Only the first key with the token's algorithm was tried."""
    other = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(OTHER.public_key()))
    other.pop("key_ops", None)
    both = tokens(tmp_path, other | {"kid": "2"}, PUBLIC | {"kid": "1"})
    assert both.check_token(token())["sub"] == "carol"
    with pytest.raises(Refused):
        both.check_token(token(kid="2"))
    with pytest.raises(Refused):
        both.check_token(token(kid="3"))


def test_keys_that_cannot_be_understood_are_skipped(tmp_path: Path) -> None:
    odd = [{}, {"kty": "RSA"}, {"kty": "oct", "k": "c2VjcmV0"}, {"kty": 5}, {"kty": "EC", "crv": "P-1"}]
    assert tokens(tmp_path, *odd, PUBLIC).check_token(token())["sub"] == "carol"


def session_end_ms(tmp_path: Path, **claims: object) -> int | None:
    checker = tokens(tmp_path, PUBLIC)
    exchange = OAuthBearer(checker, settings(tmp_path / "jwks.json"), ManualClock(NOW_S * 1000))
    assert exchange.step(f"n,,\x01auth=Bearer {token(**claims)}\x01\x01".encode()) == b""
    return exchange.expires_ms


def test_a_session_ends_with_its_token(tmp_path: Path) -> None:
    assert session_end_ms(tmp_path, exp=NOW_S + 7) == (NOW_S + 7) * 1000


def test_a_token_that_is_taken_because_of_the_skew_gives_a_session_until_the_skew_is_over(tmp_path: Path) -> None:
    """Such a session ended with its first request, so the client logged in again and again."""
    assert session_end_ms(tmp_path, exp=NOW_S - 7) == (NOW_S + 23) * 1000


def test_a_token_is_refused_at_the_end_of_the_skew(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="has expired"):
        tokens(tmp_path, PUBLIC).check_token(token(exp=NOW_S - 30))
    with pytest.raises(Refused, match="not valid yet"):
        tokens(tmp_path, PUBLIC).check_token(token(nbf=NOW_S + 31))
    assert tokens(tmp_path, PUBLIC).check_token(token(nbf=NOW_S + 30))


LISTENER = [
    "listeners=SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms=OAUTHBEARER",
    "sasl.oauthbearer.jwks.endpoint.url=file:///keys",
]


def test_a_broker_needs_an_audience_or_a_word_that_it_does_not() -> None:
    """Without an audience, tokens that the issuer made for other services logged in, and nothing said so."""
    with pytest.raises(ConfigError, match=r"stepdown\.oauthbearer\.any\.audience=true accepts that"):
        load(overrides=LISTENER)
    assert load(overrides=[*LISTENER, "sasl.oauthbearer.expected.audience=kafka"])
    assert load(overrides=[*LISTENER, "stepdown.oauthbearer.any.audience=true"])
    assert load(overrides=[*LISTENER[:2], "stepdown.oauthbearer.unsecured=true"])


def test_tokens_for_any_audience_are_said_aloud(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert tokens(tmp_path, PUBLIC, audiences=()).check_token(token(aud="another service"))
    assert "a token that was made for another service logs in" in caplog.text


@pytest.mark.parametrize("exp", [2**42, 2**63, 1e308, float("inf"), -1, True])
def test_times_of_a_token_have_bounds(tmp_path: Path, exp: float) -> None:
    """How long a session lasts is in the answer, as an int64."""
    with pytest.raises(Refused):
        tokens(tmp_path, PUBLIC).check_token(token(exp=exp))
