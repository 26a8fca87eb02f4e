"""The memory of answers of the cluster that are held as a whole, until what is made of them is sent.

No request waits for memory while it holds some: such requests could block each other. And since one of several brokers
may answer late, as late as the client's own timeout allows, a request to several brokers claims memory for all answers
at once, when each of them has begun to arrive.
"""

from collections.abc import Callable

from ...network.admission.request_claims import BYTES_A_BYTE
from ...network.memory_budget import Claim, MemoryBudget
from ...protocol.errors import MalformedFrame

WHOLE_BYTES = 64 * 1024
"""An answer of at most this size is read before any of it is sent."""
MOST_HELD_BYTES = 256 << 20
"""The largest answer that is changed; it is held as a whole."""


HoldAnswers = Callable[[], "HeldAnswerMemory"]
"""Makes the `HeldAnswerMemory` of one client request."""


class HeldAnswerMemory:
    """The part of `memory` that the answers to one request use; the request is of a client in `network`.

    A claim is made of `least_claim_bytes` at least; small answers need none. `kept_bytes`: the size of earlier answers
    that are still held.
    """

    __slots__ = ("_memory", "_network", "claim", "kept_bytes", "least_claim_bytes")

    def __init__(self, memory: MemoryBudget, network: str) -> None:
        self.claim: Claim | None = None
        self.kept_bytes = self.least_claim_bytes = 0
        self._memory = memory
        self._network = network

    async def claim_for(self, size_bytes: int, *, is_decoded: bool) -> bool:
        """Claims memory for answers of `size_bytes`; returns whether it got it. Waits for others unless something is
        held. `is_decoded`: the answers become objects. Raises: MalformedFrame."""
        if size_bytes > MOST_HELD_BYTES:
            raise MalformedFrame(f"the cluster answers with {size_bytes} bytes, {MOST_HELD_BYTES} is the most")
        if self.kept_bytes + size_bytes <= WHOLE_BYTES:
            return True
        return await self.claim_bytes(self.kept_bytes + size_bytes * (BYTES_A_BYTE if is_decoded else 1))

    async def claim_bytes(self, size_bytes: int) -> bool:
        """Claims `size_bytes` or more in all; returns whether it got it. Waits for others unless something is held."""
        size_bytes = max(size_bytes, self.least_claim_bytes)
        if self.claim is None:
            claim = self._memory.try_claim(size_bytes, self._network)
            self.claim = claim or await self._memory.claim(size_bytes, self._network)
        return self.claim.try_grow_to(size_bytes)

    def shrink_to(self, size_bytes: int) -> Claim | None:
        """Shrinks the claim to the size of the answer to send, and returns it; None for a small answer, which needs
        none."""
        if self.claim is not None and size_bytes > WHOLE_BYTES:
            self.claim.shrink_to(size_bytes)
        else:
            self.release()
        return self.claim

    def release(self) -> None:
        """Releases the claim, since nothing is held any more."""
        if self.claim is not None:
            self.claim.release()
        self.claim, self.kept_bytes = None, 0
