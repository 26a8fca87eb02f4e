"""Random conversations about a login, step by step, and what a broker says to each step.

Most begin as a right login from which steps are taken, doubled, swapped, or put in; all end with two requests that only
a user may make. What differs between two brokers by its nature is left out of the answers: salts, nonces, signatures,
lists of versions.
"""

import asyncio
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from stepdown.client.security.scram_client import ScramClient, ScramFailed
from stepdown.protocol.api import spec_of_request
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.frame import decode_response
from stepdown.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataResponse
from stepdown.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from stepdown.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

from .client import RawClient
from .hostile.mutated_logins import mutated
from .secure import PASSWORD, USER

SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM)
NO_MECHANISMS = ("GSSAPI", "plain", "", "X" * 300, "SCRAM-SHA-1")
MOST_STEPS = 7
RIGHT_BEGINNINGS = 0.75
UNKNOWN_VERSION = 30
SMALL_INT = struct.Struct(">i")
HUNG_UP = "hung up"


@dataclass
class Conversation:
    """What the tokens of a walk are made of, and the token that came last."""

    scram: ScramClient
    heard: bytes = b""

    def final(self) -> bytes:
        try:
            return self.scram.final_message(self.heard)
        except (ScramFailed, ValueError):
            return b"c=biws,r=nonce,p=AAAA"


TOKENS: dict[str, Callable[[Conversation], bytes]] = {
    "right password": lambda _: f"\0{USER}\0{PASSWORD}".encode(),
    "right password, own name twice": lambda _: f"{USER}\0{USER}\0{PASSWORD}".encode(),
    "right password, as another": lambda _: f"root\0{USER}\0{PASSWORD}".encode(),
    "wrong password": lambda _: f"\0{USER}\0wrong".encode(),
    "no password": lambda _: f"\0{USER}\0".encode(),
    "nobody's password": lambda _: f"\0nobody\0{PASSWORD}".encode(),
    "three zeros": lambda _: f"\0{USER}\0{PASSWORD}\0".encode(),
    "SCRAM first": lambda talk: talk.scram.first_message(),
    "SCRAM final": Conversation.final,
    "SCRAM final, cut": lambda talk: talk.final()[:-3],
    "nothing": lambda _: b"",
    "bytes": lambda _: b"\xff\xfe\x00\x01" * 9,
}


@dataclass(frozen=True, slots=True)
class Request:
    """A request; `token` names what a SaslAuthenticate holds."""

    message: Any
    version: int
    token: str = ""


@dataclass(frozen=True, slots=True)
class Bare:
    """A token without a request around it."""

    token: str


@dataclass(frozen=True, slots=True)
class Bytes:
    """What is no request, or one that was changed."""

    data: bytes


Step = Request | Bare | Bytes


@dataclass(frozen=True)
class Walk:
    """`seed` made it."""

    seed: int
    mechanism: str
    steps: Sequence[Step]


def random_walk(seed: int) -> Walk:
    dice = Random(seed)
    mechanism = dice.choice(MECHANISMS)
    steps = _right_login(mechanism, dice) if dice.random() < RIGHT_BEGINNINGS else []
    for _ in range(dice.randint(0 if steps else 1, 3)):
        _change(steps, dice)
    users_own = Request(MetadataRequest(topics=None), 1)
    return Walk(seed, mechanism, [*steps[:MOST_STEPS], users_own, users_own])


def _right_login(mechanism: str, dice: Random) -> list[Step]:
    tokens = ("right password",) if mechanism == "PLAIN" else ("SCRAM first", "SCRAM final")
    version = dice.randint(0, 1)
    steps: list[Step] = [Request(SaslHandshakeRequest(mechanism=mechanism), version)]
    if dice.random() < 0.5:
        steps.insert(0, _api_versions(dice.randint(0, 4)))
    wrapped = dice.randint(0, 2)
    steps += [_authenticate(token, wrapped) if version else Bare(token) for token in tokens]
    return [*steps, Request(MetadataRequest(topics=None), 1)]


def _change(steps: list[Step], dice: Random) -> None:
    at = dice.randrange(len(steps) + 1)
    match dice.randrange(4):
        case 0 if steps:
            del steps[at % len(steps)]
        case 1 if steps:
            steps.insert(at, dice.choice(steps))
        case 2 if steps:
            steps[at % len(steps)] = _random_step(dice)
        case _:
            steps.insert(at, _random_step(dice))


def _random_step(dice: Random) -> Step:
    token = dice.choice(list(TOKENS))
    match dice.randrange(8):
        case 0:
            return _api_versions(dice.choice((0, 3, 4, UNKNOWN_VERSION)))
        case 1:
            mechanism = dice.choice((*MECHANISMS, *NO_MECHANISMS))
            return Request(SaslHandshakeRequest(mechanism=mechanism), dice.randint(0, 1))
        case 2 | 3:
            return _authenticate(token, dice.randint(0, 2))
        case 4:
            return Bare(token)
        case 5:
            return Request(MetadataRequest(topics=None), dice.choice((1, 9)))
        case 6:
            return Bytes(_framed(dice.randbytes(dice.choice((0, 1, 3, 4, 8, 100, 600)))))
        case _:
            return Bytes(_odd_bytes(dice))


def _odd_bytes(dice: Random) -> bytes:
    """Lengths that are none or are too large, frames of versions that there are not, frames that are changed."""
    handshake = b"\x00\x11\x00\x01\x00\x00\x00\x07\x00\x01a\x00\x05PLAIN"
    authenticate = b"\x00\x24\x00\x00\x00\x00\x00\x07\x00\x01a\x00\x00\x00\x02hi"
    match dice.randrange(4):
        case 0:
            return SMALL_INT.pack(dice.choice((-1, -(1 << 31), (1 << 31) - 1, 524_289, 100_000_000))) + handshake
        case 1:
            known = dice.choice((handshake, authenticate))
            return _framed(known[:2] + struct.pack(">h", dice.choice((-1, 3, 99, 32767))) + known[4:])
        case 2:
            return _framed(struct.pack(">hh", dice.choice((-1, 0, 3, 7, 1000, 32767)), 0) + handshake[4:])
        case _:
            return _framed(mutated(dice.choice((handshake, authenticate)), dice))


def _api_versions(version: int) -> Request:
    software = {"client_software_name": "a", "client_software_version": "1"} if version >= 3 else {}
    return Request(ApiVersionsRequest(**software), version)


def _authenticate(token: str, version: int) -> Request:
    return Request(SaslAuthenticateRequest(), version, token)


def _framed(data: bytes) -> bytes:
    return SMALL_INT.pack(len(data)) + data


@dataclass
class Walker:
    """Takes walks at one broker."""

    host: str
    port: int
    at_once: int = 16
    _places: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(self.at_once)

    async def take(self, walk: Walk) -> list[Any]:
        """What is answered to each step, up to where the broker hangs up; at the end the client does."""
        async with self._places, await RawClient.connect(self.host, self.port) as client:
            talk = Conversation(
                ScramClient(walk.mechanism if walk.mechanism in SCRAM else SCRAM[0], USER, PASSWORD, "n")
            )
            answers: list[Any] = []
            for step in walk.steps:
                answers.append(await _ask(client, step, talk))
                if answers[-1] == HUNG_UP:
                    break
            return answers


async def _ask(client: RawClient, step: Step, talk: Conversation) -> Any:
    with suppress(OSError):
        await client.send_raw(_bytes_of(client, step, talk))
        if isinstance(step, Bytes) and SMALL_INT.unpack_from(step.data)[0] > len(step.data):
            client.end()
        frame = await client.read_frame()
        if frame is not None:
            return _heard(frame, step, talk)
    return HUNG_UP


def _bytes_of(client: RawClient, step: Step, talk: Conversation) -> bytes:
    match step:
        case Bytes(data):
            return data
        case Bare(token):
            return _framed(TOKENS[token](talk))
        case Request(message, version, token):
            asked = SaslAuthenticateRequest(auth_bytes=TOKENS[token](talk)) if token else message
            if version != UNKNOWN_VERSION:
                return client.frame(asked, version)
            frame = bytearray(client.frame(asked, 0))
            frame[6:8] = struct.pack(">h", version)
            return bytes(frame)


def _heard(frame: bytes, step: Step, talk: Conversation) -> Any:
    match step:
        case Request(message, version):
            known = 0 if version == UNKNOWN_VERSION else version
            try:
                _, answer = decode_response(spec_of_request(message), known, memoryview(frame))
            except ValueError:
                return _token(frame, talk)
            return _compared(answer, talk)
        case Bare():
            return _token(frame, talk)
        case _:
            return "an answer"


def _compared(answer: Any, talk: Conversation) -> Any:
    match answer:
        case ApiVersionsResponse(error_code=code):
            return ("versions", code)
        case SaslHandshakeResponse(error_code=code, mechanisms=mechanisms):
            return ("handshake", code, sorted(set(mechanisms) & set(MECHANISMS)))
        case SaslAuthenticateResponse(error_code=code, error_message=text, auth_bytes=token, session_lifetime_ms=ms):
            told = text if code != ErrorCode.ILLEGAL_SASL_STATE else "text of a broker's own"
            return ("authenticate", code, told, _token(bytes(token), talk), ms)
        case MetadataResponse(brokers=brokers):
            return ("metadata", len(brokers))
    raise AssertionError(f"no answer to a login: {answer}")


def _token(data: bytes, talk: Conversation) -> Any:
    """Of SCRAM the names of the fields and the iterations; whatever else as it is."""
    talk.heard = data
    fields_ = dict(part.split(b"=", 1) for part in data.split(b",") if part[1:2] == b"=")
    return (b"".join(fields_), fields_.get(b"i", b"")) if fields_.keys() & {b"r", b"v"} else data
