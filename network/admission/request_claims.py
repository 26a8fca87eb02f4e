"""The memory that one connection claims for its requests: a large frame while it arrives, the request that was parsed
from it, and bytes that were read ahead.

Parsing makes objects of items of about 16 bytes: a partition of a waiting fetch takes 385 bytes, 24 times its bytes in
the frame (`tests/fault/test_waiting_fetches.py`). Records are not parsed.
"""

from collections.abc import Callable
from functools import partial
from struct import Struct

from ...protocol.api import ApiKey
from ...protocol.errors import MalformedFrame
from ...protocol.frame import FrameParser
from ...protocol.kafka_releases import api_name
from ..answerer import CloseConnection
from ..memory_budget import Claim, MemoryBudget, NoRoomToWait
from ..peer import Peer
from ..transport import PlainTransport
from .shared_by_connections import RequestRules, SharedByConnections

CHARGED_FRAME_BYTES = 32 * 1024
RESTRICTED_BYTES = 4 * 1024
"""Frames before authentication, and bytes read ahead, are charged to no budget up to this size."""
FREE_PARSED_BYTES = 4 * 1024
"""Requests parsed from frames up to this size are charged to no budget: almost all of them."""
BYTES_A_BYTE = 24

_KEY = Struct(">h")


def memory_bytes_of(frame: memoryview) -> int:
    """The memory of the request parsed from a frame of more than `FREE_PARSED_BYTES`; 0 if it need not be claimed."""
    return 0 if _KEY.unpack_from(frame)[0] == ApiKey.PRODUCE else len(frame) * BYTES_A_BYTE


class RequestClaims:
    """The claims of one connection: of its `frame`, of the request `parsed` from it, and of bytes `read_ahead`.

    `close` ends the connection, with a reason for the log.
    """

    def __init__(
        self,
        wire: PlainTransport,
        peer: Peer,
        parser: FrameParser,
        shared: SharedByConnections,
        close: Callable[[str], None],
    ) -> None:
        self.free_frame_bytes = CHARGED_FRAME_BYTES
        self.frame: Claim | None = None
        self._wire = wire
        self._peer = peer
        self._parser = parser
        self._shared = shared
        self.close = close
        self._frame_memory = shared.request_memory
        self.parsed: Claim | None = None
        self.read_ahead: Claim | None = None
        self._ms_a_byte = 0.0

    def restrict(self, memory: MemoryBudget) -> None:
        """Until `unrestrict`, charges all but small frames to `memory`."""
        self.free_frame_bytes, self._frame_memory = RESTRICTED_BYTES, memory

    def unrestrict(self) -> None:
        """Charges large frames to the memory of all requests."""
        self.free_frame_bytes, self._frame_memory = CHARGED_FRAME_BYTES, self._shared.request_memory

    async def claim_for_pending_frame(self) -> None:
        """Claims the memory of an unfinished large frame (`queued.max.request.bytes`) before more of it is read.

        Raises: MalformedFrame if it is too large for its API, CloseConnection if too many wait for memory.
        """
        size = self._parser.pending_frame_bytes
        if size > self.free_frame_bytes and self.frame is None:
            self._check_frame_size(size, self._shared.rules())
            self.frame = await self._claim_for_frame(size)
            self._ms_a_byte = self._shared.rules().grace_ms_per_byte(size)
            self.frame.allow_reclaim(self._close_for_slow_frame)

    def try_claim_for_parsed_request(self, size_bytes: int) -> bool:
        """Claims memory for the parsed request if there is some at once; returns whether there was."""
        budget = self._shared.parsed_requests
        self.parsed = budget.try_claim(min(size_bytes, budget.limit_bytes), self._peer.network)
        return self.parsed is not None

    async def claim_for_parsed_request(self, size_bytes: int) -> None:
        """Waits for memory for the parsed request. Raises: ConnectionResetError if the connection was closed
        meanwhile."""
        budget = self._shared.parsed_requests
        claim = await budget.claim(min(size_bytes, budget.limit_bytes), self._peer.network)
        if self._wire.is_closed:
            claim.release()
            raise ConnectionResetError("closed")
        self.parsed = claim

    def claim_for_read_ahead(self, held: int) -> None:
        """Claims memory for the bytes held, until their requests are answered or a frame's claim covers them."""
        if held > RESTRICTED_BYTES and (self.read_ahead is None or held > self.read_ahead.size_bytes):
            self.release_read_ahead()
            self.read_ahead = self._shared.read_ahead.claim_unconditionally(held)

    def note_progress(self, size_bytes: int, held_bytes: int) -> None:
        """Bytes have come, of which the parser now holds `held_bytes`; those of a large frame give it more time."""
        if self.frame is not None:
            self.frame.note_progress(size_bytes * self._ms_a_byte)
        else:
            self.claim_for_read_ahead(held_bytes)

    def allow_reclaim(self, end_wait: Callable[[], None] | None) -> None:
        """While the request waits in its handler, lets others have its memory, which ends the wait by `end_wait`."""
        if self.frame is not None:
            self.frame.allow_reclaim(partial(self._give_up_waiting_request, end_wait))
        if self.parsed is not None:
            drop = end_wait or partial(self._give_up_waiting_request, None)
            self.parsed.allow_reclaim(drop, at_once=end_wait is not None)

    def release(self) -> None:
        """Frees the claims of frame and parsed request."""
        if self.frame is not None:
            self.frame.release()
            self.frame = None
        self.release_parsed_request()

    def release_parsed_request(self) -> None:
        if self.parsed is not None:
            self.parsed.release()
            self.parsed = None

    def release_read_ahead(self) -> None:
        if self.read_ahead is not None:
            self.read_ahead.release()
            self.read_ahead = None

    async def _claim_for_frame(self, size: int) -> Claim:
        """Raises: CloseConnection."""
        claim = self._frame_memory.try_claim(size, self._peer.network)
        if claim is not None:
            return claim
        self._wire.unwatch()
        self.claim_for_read_ahead(self._parser.held_bytes)
        try:
            return await self._frame_memory.claim(size, self._peer.network, holds_bytes=True)
        except NoRoomToWait as fault:
            raise CloseConnection(str(fault)) from None
        finally:
            self.release_read_ahead()

    def _check_frame_size(self, size: int, rules: RequestRules) -> None:
        key, most = self._parser.pending_api_key, rules.max_bytes_without_records
        if size > most and key is not None and key != ApiKey.PRODUCE:
            raise MalformedFrame(
                f"{api_name(key)} request of {size} bytes, {most} is the most; see stepdown.request.max.bytes"
            )

    def _close_for_slow_frame(self) -> None:
        """Closes: others wait for the memory of a request that arrives too slowly."""
        size, key = self._parser.pending_frame_bytes, self._parser.pending_api_key
        self.close(
            f"it sends a request of {size} bytes (API key {key}) too slowly while others wait for request memory; see "
            "stepdown.request.min.bytes.per.second and stepdown.request.memory.bytes"
        )

    def _give_up_waiting_request(self, end_wait: Callable[[], None] | None) -> None:
        """Frees the frame for others. Ends the wait by `end_wait`; without one, closes the connection."""
        if self.frame is not None:
            self.frame.release()
            self.frame = None
        if end_wait is not None:
            end_wait()
            return
        self._peer.note_departure()
        self.close(
            "its request waits for an answer while others wait for request memory; see stepdown.request.memory.bytes"
        )
