"""Turns exceptions of a connection into ClientErrors, with messages for people."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from ..config.keys.endpoints import HostPort
from ..protocol.errors import ErrorCode, MalformedFrame, TlsInFrame
from .errors import (
    AuthenticationFailed,
    ClientError,
    ConnectionBroken,
    MalformedAnswer,
    NoAnswer,
    TlsExpected,
    TlsFailed,
    Unreachable,
    describe_connect_fault,
    describe_handshake_fault,
    make_printable,
)


@contextmanager
def translate_connect_faults(address: HostPort) -> Iterator[None]:
    """While a connection is opened, raises TlsFailed in place of an SSLError, and Unreachable in place of another
    OSError or of the ValueError for an invalid host name."""
    try:
        yield
    except ssl.SSLError as fault:
        raise TlsFailed(
            f"{address}: {describe_handshake_fault(fault)}", ErrorCode.NETWORK_EXCEPTION
        ) from _without_traceback(fault)
    except (OSError, ValueError) as fault:
        raise Unreachable(
            f"no broker answers at {address}: {describe_connect_fault(fault)}", address
        ) from _without_traceback(fault)


@contextmanager
def translate_request_faults(address: HostPort, name: str) -> Iterator[None]:
    """While request `name` is sent, raises a ClientError in place of errors of the connection and its protocol."""
    try:
        yield
    except AuthenticationFailed as fault:
        raise AuthenticationFailed(f"{address}: {fault}", fault.error_code) from _without_traceback(fault)
    except ClientError:
        raise
    except TimeoutError as fault:
        raise NoAnswer(f"the broker at {address} did not answer {name} in time") from _without_traceback(fault)
    except ssl.SSLError as fault:
        raise TlsFailed(
            f"{address}: {describe_handshake_fault(fault)}", ErrorCode.NETWORK_EXCEPTION
        ) from _without_traceback(fault)
    except OSError as fault:
        raise ConnectionBroken(f"the connection to {address} broke: {fault.strerror or fault}") from _without_traceback(
            fault
        )
    except TlsInFrame as fault:
        raise TlsExpected(
            f"{address} speaks TLS, which security.protocol SSL or SASL_SSL is for"
        ) from _without_traceback(fault)
    except MalformedFrame as fault:
        text = f"{address} answered {name} with something else than a Kafka response: {make_printable(str(fault))}"
        raise MalformedAnswer(text) from _without_traceback(fault)


def _without_traceback(fault: Exception) -> Exception:
    """Returns the fault without its traceback. From Python 3.12 on that has a frame of `contextmanager` which refers to
    the fault, so each would keep the other alive.
    """
    fault.__traceback__ = None
    return fault
