"""The exceptions of a client's methods."""

import os
import re
import ssl
from typing import Any, Final

from ..config.keys.endpoints import HostPort
from ..protocol.errors import ErrorCode, code_of, error_name
from ..protocol.tls_faults import describe_tls_fault

MAX_SHOWN_CHARACTERS: Final = 1000
"""How much of a broker's text is shown."""

SENTENCES: Final = {
    "UNKNOWN_TOPIC_OR_PARTITION": "there is no such topic or partition",
    "GROUP_ID_NOT_FOUND": "there is no such group",
    "TRANSACTIONAL_ID_NOT_FOUND": "there is no such transactional id",
    "OFFSET_OUT_OF_RANGE": "there is no such offset",
    "TOPIC_AUTHORIZATION_FAILED": "this user may not do that with the topic",
    "GROUP_AUTHORIZATION_FAILED": "this user may not do that with the group",
    "CLUSTER_AUTHORIZATION_FAILED": "this user may not do that with the cluster",
    "INVALID_TOPIC_EXCEPTION": "that is no name for a topic",
    "NON_EMPTY_GROUP": "the group has members",
}
"""The words for an error whose response has no message."""


class ClientError(Exception):
    """A call failed. `error_code`: the broker's error, or one that fits the fault."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR) -> None:
        super().__init__(message)
        self.error_code = code


class Unreachable(ClientError, ConnectionError):
    """Nobody answers at `address`."""

    def __init__(self, message: str, address: HostPort | None = None) -> None:
        super().__init__(message)
        self.address = address


class ConnectionBroken(ClientError, ConnectionError):
    """The broker hung up, or the network did, before the answer came."""


class NoAnswer(ClientError, TimeoutError):
    """The broker did not answer in time."""


class MalformedAnswer(ClientError):
    """What came back is not Kafka's protocol."""


class TlsExpected(MalformedAnswer):
    """The broker speaks TLS, and the client does not."""


class UnsupportedVersion(ClientError):
    """The broker does not offer an API, or no version of it that both sides speak."""


class AuthenticationFailed(ClientError):
    """The broker or the client could not prove who it is; trying again is of no use."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.SASL_AUTHENTICATION_FAILED) -> None:
        super().__init__(message, code)


class TlsFailed(AuthenticationFailed):
    """TLS could not be agreed on."""


class KafkaError(ClientError):
    """A broker answered with an error; `code` is its name, `message` the broker's own text, "" where it gave none."""

    def __init__(self, what: str, code: int, message: str | None = None) -> None:
        self.code, self.message = error_name(code), make_printable(message or "")
        text = describe_error(self.code, self.message)
        super().__init__(text if not what else describe_error_of(what, self.code, self.message), code_of(code))


def describe_error_of(name: str, code: str, message: str) -> str:
    """As `describe_error`, with the name of what failed in front unless the message has it."""
    is_said = re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", message) is not None
    return f"{'' if is_said else f'{name}: '}{describe_error(code, message)}"


def describe_error(code: str, message: str) -> str:
    """The message, or a sentence for the error, with the error's name; the name alone if there is neither."""
    words = message or SENTENCES.get(code, "")
    return f"{words} ({code})" if words else code


def raise_if_error(what: str, answer: Any) -> None:
    """Raises: KafkaError if the answer, or this part of one, has an error code."""
    if answer.error_code:
        raise KafkaError(what, answer.error_code, getattr(answer, "error_message", None))


def describe_connect_fault(error: OSError | ValueError) -> str:
    """Why a connection could not be opened, in the system's words, without those that asyncio adds."""
    number = getattr(error, "errno", None) or 0
    if isinstance(error, TimeoutError) and not number:
        return "there was no answer in time"
    return os.strerror(number) if number > 0 else getattr(error, "strerror", "") or str(error)


def describe_handshake_fault(error: ssl.SSLError) -> str:
    """A sentence for a failed handshake."""
    return f"TLS could not be agreed on: {describe_tls_fault(error, 'the broker')}"


def make_printable(text: str) -> str:
    """A broker's text as one line of limited length with control characters escaped."""
    shown = text[:MAX_SHOWN_CHARACTERS]
    escaped = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in shown)
    return escaped + ("…" if len(text) > MAX_SHOWN_CHARACTERS else "")
