"""The one request besides Produce and Metadata of an idempotent producer: InitProducerId, until it has an id."""

from collections.abc import Callable

from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode, code_of
from ...protocol.messages.init_producer_id import InitProducerIdRequest
from ..accumulator.sequence_numbers import ProducerIdAndEpoch, SequenceNumbers
from ..errors import error_of
from .call_source import Call, CallSource
from .network_interface import NetworkAnswer

MAX_TIMEOUT_MS = 2**31 - 1
UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION


class ProducerIdCallSource(CallSource):
    """Gets an id, and a new one when the last epoch of the old one is used up."""

    def __init__(self, sequences: SequenceNumbers, backoff_ms: Callable[[int], int]) -> None:
        self.sequences = sequences
        self._backoff_ms = backoff_ms
        self._asking = False
        self._failures = 0
        self._again_ms = 0

    def prepare(self) -> None:
        self.sequences.resolve_sequences()
        self.sequences.bump_epoch_when_due()

    def next_call(self, now_ms: int) -> Call | None:
        if self.sequences.identity.is_valid or self._asking or self.fatal or now_ms < self._again_ms:
            return None
        return Call(
            key=ApiKey.INIT_PRODUCER_ID, request=self._request, done=lambda answer: self._take_producer_id(answer)
        )

    def ms_to_next_call(self, now_ms: int) -> int:
        if self.sequences.identity.is_valid or self._asking or self.fatal:
            return 1 << 62
        return max(0, self._again_ms - now_ms)

    def begin_call(self, now_ms: int) -> None:
        # A failed request is repeated no sooner than the backoff from now.
        self._asking = True
        self._again_ms = now_ms + self._backoff_ms(self._failures + 1)

    def note_unsupported_version(self, call: Call) -> None:
        text = "the broker has no InitProducerId: it is older than 0.11, so set enable.idempotence=false"
        self.fatal = error_of(UNSUPPORTED, text)

    def _request(self, version: int) -> InitProducerIdRequest:
        return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=MAX_TIMEOUT_MS)

    def _take_producer_id(self, answer: NetworkAnswer) -> None:
        self._asking = False
        code = answer.failure or code_of(answer.response.error_code)
        if code is ErrorCode.NONE:
            self._failures = self._again_ms = 0
            self.sequences.set_producer_id_and_epoch(
                ProducerIdAndEpoch(answer.response.producer_id, answer.response.producer_epoch)
            )
        elif code.retriable:
            self._failures += 1
        else:
            self.fatal = error_of(code, f"no producer id was given: {code.name}")
