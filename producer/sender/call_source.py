"""Sources of requests other than Produce and Metadata: producer id, transactions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...client.versions import ANY_VERSION
from ...config.keys.endpoints import HostPort
from ...protocol.api import ApiKey
from ..accumulator.sequence_numbers import SequenceNumbers
from ..errors import FATAL_CODES, ProducerError
from .network_interface import NetworkAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request of one of these `versions`, both ends included, for any broker or for one of `nodes`."""

    key: ApiKey
    request: Callable[[int], Any]
    done: Callable[[NetworkAnswer], None]
    versions: tuple[int, int] = ANY_VERSION
    nodes: Mapping[int, HostPort] | None = None


class CallSource:
    """Something that has requests to send, one at a time."""

    sequences: SequenceNumbers
    fatal: ProducerError | None = None

    def prepare(self) -> None:
        """Called before each pass: handles what has changed since the last one."""
        raise NotImplementedError

    def next_call(self, now_ms: int) -> Call | None:
        """Returns the request to send now; None: there is none, or one is open."""
        raise NotImplementedError

    def ms_to_next_call(self, now_ms: int) -> int:
        """After how many ms `next_call` may have a request."""
        raise NotImplementedError

    def begin_call(self, now_ms: int) -> None:
        """Notes that the request of `next_call` is on its way."""
        raise NotImplementedError

    def note_no_ready_node(self, now_ms: int) -> None:
        """Notes that no node for the request of `next_call` takes one now."""

    def note_unsupported_version(self, call: Call) -> None:
        """Notes that no broker speaks a version that the call needs."""
        raise NotImplementedError

    def refusal(self) -> ProducerError | None:
        """Why no record can be taken now. Raises: WrongState where it is the application's doing."""
        return self.fatal

    def enter_fatal_error(self, error: ProducerError) -> None:
        """No record is taken from now on; the first error stays."""
        self.fatal = self.fatal or error

    def add_partition(self, topic: str, partition: int) -> None:
        """Notes that a record for this partition got into a batch."""

    def handle_failed_batch(self, error: ProducerError) -> None:
        """Notes that a batch ended with an error; one of the fatal codes ends the producer."""
        if error.code in FATAL_CODES:
            self.fatal = self.fatal or error
