"""The one request besides Produce and Metadata of an idempotent producer: InitProducerId, until it has an id."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...config.keys.addresses import HostPort
from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.init_producer_id import InitProducerIdRequest
from ..errors import FATAL_CODES, ProducerError, code_of, error_of
from .network_interface import ANY_VERSION, Answer
from .sequence_numbers import Identity, Sequences

MAX_TIMEOUT_MS = 2**31 - 1
UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request of one of these `versions`, both ends included, for any broker or for one of `nodes`."""

    key: ApiKey
    request: Callable[[int], Any]
    done: Callable[[Answer], None]
    versions: tuple[int, int] = ANY_VERSION
    nodes: Mapping[int, HostPort] | None = None


class Caller:
    """Something that has requests to send, one at a time."""

    sequences: Sequences
    fatal: ProducerError | None = None

    def prepare(self) -> None:
        """Looks at what happened since, before the next request and drain."""
        raise NotImplementedError

    def next_call(self, now_ms: int) -> Call | None:
        """The request to send now; None: nothing, or one is open."""
        raise NotImplementedError

    def next_call_ms(self, now_ms: int) -> int:
        """How long until there may be one."""
        raise NotImplementedError

    def sent(self, now_ms: int) -> None:
        """The request of `next_call` is on its way."""
        raise NotImplementedError

    def not_ready(self, now_ms: int) -> None:
        """No node for the request of `next_call` takes one now."""

    def unsupported(self, call: Call) -> None:
        """No broker speaks a version that the call needs."""
        raise NotImplementedError

    def refusal(self) -> ProducerError | None:
        """Why no record can be taken now. Raises: WrongState where it is the application's doing."""
        return self.fatal

    def fail(self, error: ProducerError) -> None:
        """Nothing more can be written."""
        self.fatal = self.fatal or error

    def appended(self, topic: str, partition: int) -> None:
        """A record got into a batch."""

    def batch_failed(self, error: ProducerError) -> None:
        """A batch ended with an error; one of the fatal codes ends the producer."""
        if error.code in FATAL_CODES:
            self.fatal = self.fatal or error


class IdempotentCaller(Caller):
    """Gets an id, and a new one when the last epoch of the old one is used up."""

    def __init__(self, sequences: Sequences, backoff_ms: Callable[[int], int]) -> None:
        self.sequences = sequences
        self._backoff_ms = backoff_ms
        self._asking = False
        self._failures = 0
        self._again_ms = 0

    def prepare(self) -> None:
        self.sequences.resolve()
        self.sequences.bump_if_asked()

    def next_call(self, now_ms: int) -> Call | None:
        if self.sequences.identity.valid or self._asking or self.fatal or now_ms < self._again_ms:
            return None
        return Call(key=ApiKey.INIT_PRODUCER_ID, request=self._request, done=lambda answer: self._done(answer))

    def next_call_ms(self, now_ms: int) -> int:
        if self.sequences.identity.valid or self._asking or self.fatal:
            return 1 << 62
        return max(0, self._again_ms - now_ms)

    def sent(self, now_ms: int) -> None:
        # A failed request is repeated no sooner than the backoff from now.
        self._asking = True
        self._again_ms = now_ms + self._backoff_ms(self._failures + 1)

    def unsupported(self, call: Call) -> None:
        text = "the broker has no InitProducerId: it is older than 0.11, so set enable.idempotence=false"
        self.fatal = error_of(UNSUPPORTED, text)

    def _request(self, version: int) -> InitProducerIdRequest:
        return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=MAX_TIMEOUT_MS)

    def _done(self, answer: Answer) -> None:
        self._asking = False
        code = answer.failure or code_of(answer.response.error_code)
        if code is ErrorCode.NONE:
            self._failures = self._again_ms = 0
            self.sequences.take_identity(Identity(answer.response.producer_id, answer.response.producer_epoch))
        elif code.retriable:
            self._failures += 1
        else:
            self.fatal = error_of(code, f"no producer id was given: {code.name}")
