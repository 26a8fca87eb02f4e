"""The commands' client: faults as `CommandFailure`, with what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ...client.blocking_client import BlockingClient
from ...client.errors import (
    ClientError,
    ConnectionBroken,
    KafkaError,
    MalformedAnswer,
    Unreachable,
    UnsupportedVersion,
    UntrustedCertificate,
)
from ...client.operation import Operation
from ...client.security.settings import OPEN, SecuritySettings
from ...config import HostPort
from .failures import CommandFailure

T = TypeVar("T")
DEFAULT_PORT = 9092
CLIENT_ID = "stepdown-cli"
SECURITY_HINT = "A TLS or SASL listener takes --command-config FILE, a client.properties that says how."
HINTS_BY_FAULT = {
    Unreachable: "Start one with `stepdown serve`, or name another with --bootstrap-server HOST:PORT.",
    UnsupportedVersion: "It may be of another kind, or older or newer than this command needs.",
    UntrustedCertificate: "Is it a TLS listener, and is its certificate signed by what ssl.truststore.location holds?",
    MalformedAnswer: f"Is a Kafka broker listening there? {SECURITY_HINT}",
}
HINTS_BY_CODE = {"UNKNOWN_TOPIC_OR_PARTITION": "`stepdown topics list` shows what there is."}


class CommandClient(BlockingClient):
    """Asks the brokers of one cluster. `hints`: what to do next, by the error that a broker answered.

    Raises: CommandFailure from every method.
    """

    def __init__(self, address: HostPort, security: SecuritySettings | None, hints: Mapping[str, str]) -> None:
        super().__init__([address], client_id=CLIENT_ID, security=security or OPEN)
        self._is_open = security is None
        self._hints = {**HINTS_BY_CODE, **hints}

    def connect(self) -> None:
        try:
            super().connect()
        except ClientError as fault:
            raise CommandFailure(str(fault), self._hint(fault)) from fault

    def run(self, operation: Operation[T]) -> T:
        try:
            return super().run(operation)
        except ClientError as fault:
            raise CommandFailure(str(fault), self._hint(fault)) from fault

    def _hint(self, fault: ClientError) -> str:
        if isinstance(fault, KafkaError):
            return self._hints.get(fault.code, "")
        if isinstance(fault, ConnectionBroken):
            return SECURITY_HINT if self._is_open else ""
        return HINTS_BY_FAULT.get(type(fault), "")
