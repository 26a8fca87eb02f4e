"""The commands' client, which raises faults as `CommandFailure` with the next step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from ...client.blocking_client import BlockingClient
from ...client.connection import TIMEOUT_S
from ...client.errors import (
    ClientError,
    ConnectionBroken,
    KafkaError,
    MalformedAnswer,
    NoAnswer,
    TlsExpected,
    Unreachable,
    UnsupportedVersion,
)
from ...client.operation import Operation
from ...client.security.settings import OPEN, SecuritySettings
from ...config import HostPort
from .failures import CommandFailure
from .stop_signals import StopSignals

T = TypeVar("T")
CLIENT_ID = "stepdown-cli"
GOODBYE_S = 2.0
"""The longest wait for each response after a signal has ended the command."""
SECURITY_HINT = "A TLS or SASL listener takes --command-config FILE, a client.properties that says how."
CLOSED_HINT = (
    "Its log says why. It may expect {} (--command-config FILE, a client.properties that says how), "
    "or be a gateway whose cluster is away."
)
ADVERTISED_HINT = (
    "{} answered, and names {} to its clients: set advertised.listeners of that broker to an address that is reached "
    "from here."
)
SILENT_HINT = "Is a Kafka broker listening there?"
HINTS_BY_FAULT = {
    Unreachable: "Name another with --bootstrap-server HOST:PORT, or start what should be there: `stepdown serve` "
    "starts a broker, and a gateway opens the port of a broker when that is there.",
    UnsupportedVersion: "It may be of another kind, or older or newer than this command needs.",
    MalformedAnswer: SILENT_HINT,
    TlsExpected: SECURITY_HINT,
}
HINTS_BY_CODE = {
    "BROKER_NOT_AVAILABLE": "`stepdown cluster` lists the brokers.",
    "UNKNOWN_TOPIC_OR_PARTITION": "`stepdown topics list` shows what there is.",
}


class CommandClient(BlockingClient):
    """Sends requests to the brokers of one cluster. `hints`: the next step for the user, by error code.

    `stopping`: signals that end a wait. Each request after a signal, such as LeaveGroup, may take `GOODBYE_S`.

    Raises: CommandFailure from every method, SignalStop from `run`.
    """

    def __init__(
        self, addresses: Sequence[HostPort], security: SecuritySettings | None, hints: Mapping[str, str]
    ) -> None:
        super().__init__(addresses, client_id=CLIENT_ID, security=security or OPEN, timeout_s=TIMEOUT_S)
        self._is_open = security is None
        self._bootstrap_addresses = addresses
        self._is_connected = self._has_answered = False
        self.stopping: StopSignals | None = None
        self._hints = {**HINTS_BY_CODE, **hints}

    def connect(self) -> None:
        try:
            super().connect()
        except ClientError as fault:
            raise CommandFailure(str(fault), self._hint_for(fault)) from fault
        self._is_connected = True

    def run(self, operation: Operation[T]) -> T:
        try:
            with self._end_wait_on_signal():
                result = super().run(operation)
        except ClientError as fault:
            raise CommandFailure(str(fault), self._hint_for(fault)) from fault
        self._has_answered = True
        return result

    def _end_wait_on_signal(self) -> AbstractContextManager[None]:
        if self.stopping is None:
            return nullcontext()
        if self.stopping.by is not None:
            self._timeout_s = GOODBYE_S
        return self.stopping.end_wait_on_signal()

    def _hint_for(self, fault: ClientError) -> str:
        if isinstance(fault, KafkaError):
            return self._hints.get(fault.code, "")
        if isinstance(fault, ConnectionBroken):
            expected = "a login" if self._is_connected else "TLS or a login"
            return CLOSED_HINT.format(expected) if self._is_open and not self._has_answered else ""
        if isinstance(fault, NoAnswer):
            return "" if self._is_connected else SILENT_HINT
        if isinstance(fault, Unreachable) and fault.address not in (None, *self._bootstrap_addresses):
            return ADVERTISED_HINT.format(", ".join(map(str, self._bootstrap_addresses)), fault.address)
        return HINTS_BY_FAULT.get(type(fault)) or self._hints.get(fault.error_code.name, "")


def is_broken_connection(failure: CommandFailure) -> bool:
    """Whether no broker answered, or the connection broke: another try may succeed."""
    return isinstance(failure.__cause__, ConnectionBroken | NoAnswer | Unreachable)
