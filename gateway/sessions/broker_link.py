"""The connection of one client to one broker of the cluster: sends requests and reads answers, as bytes or decoded."""

from functools import partial
from struct import Struct
from typing import Any

from ...client.versions import VersionRange, VersionRanges
from ...config.keys.endpoints import HostPort
from ...network.memory_budget import Claim
from ...protocol.api import ApiKey, ApiSpec, spec_of_request
from ...protocol.errors import MalformedFrame
from ...protocol.frame import decode_response_body, encode_request
from ...protocol.primitives import MAX_ITEMS
from ..offered_versions import NOT_OFFERED
from ..request_frame import RequestHead
from ..translations.held_answers import HeldAnswerMemory
from ..upstream_connection import UpstreamConnection
from .client_request import ClientRequest
from .request_decoder import decode_in_worker_if_many
from .session_tools import SessionTools

_HEAD = Struct(">ii")


class BrokerLink:
    """`versions`: the API versions that the broker takes. Methods that wait raise OSError when the connection
    breaks."""

    def __init__(
        self, tools: SessionTools, connection: UpstreamConnection, versions: VersionRanges, address: HostPort
    ) -> None:
        self.connection = connection
        self.versions = versions
        self.address = address
        self._tools = tools
        self._offered: dict[int, VersionRange] = {}

    def versions_to_offer(self, key: int) -> VersionRange:
        """The versions of an API that clients of this broker may use."""
        offered = self._offered.get(key)
        if offered is None:
            offered = self._offered[key] = self._tools.offer(key, self.versions.get(key, NOT_OFFERED))
        return offered

    async def ask(self, request: Any, version: int, client_request: ClientRequest, held: HeldAnswerMemory) -> Any:
        """Sends a request on behalf of a client's; returns the response, None if `held` has no room for it. Raises:
        MalformedFrame, OSError."""
        await self.send(request, version, client_request)
        size = await self.read_head(client_request.head)
        spec = spec_of_request(request)
        if not await held.claim_for(size, is_decoded=spec.key != ApiKey.FETCH):
            await self.connection.skip(size)
            return None
        return await self.receive(spec, version, client_request, size, held)

    async def send(self, request: Any, version: int, client_request: ClientRequest) -> None:
        """Sends a request; `read_head` and `receive` take the answer. Raises: OSError."""
        spec = spec_of_request(request)
        encode = partial(
            encode_request, spec, version, client_request.head.correlation_id, client_request.client_id, request
        )
        await self.connection.send(
            await self._tools.run_maybe_in_worker(encode, in_worker=client_request.has_many_items)
        )

    async def receive(
        self, spec: ApiSpec, version: int, client_request: ClientRequest, size: int, held: HeldAnswerMemory
    ) -> Any:
        """Reads and decodes an answer after `read_head`. Raises: MalformedFrame, OSError."""
        body = await self.read(size, held)
        decode = partial(decode_response_body, spec, version, memoryview(body))
        response, has_many_items = await decode_in_worker_if_many(self._tools.workers, decode, MAX_ITEMS)
        client_request.has_many_items |= has_many_items
        return response

    async def read_head(self, head: RequestHead) -> int:
        """Reads the head of the answer to that request; returns how many bytes follow. Raises: MalformedFrame,
        OSError."""
        size, correlation_id = await self.connection.read_head()
        self._check_correlation_id(size, correlation_id, head)
        return size

    async def read_frame_if_whole(self, head: RequestHead) -> bytes | None:
        """Reads the whole frame of the answer to that request if it came in one piece; else reads nothing.

        Raises: MalformedFrame, OSError.
        """
        frame = await self.connection.read_frame_if_whole()
        if frame is not None:
            self._check_correlation_id(len(frame) - _HEAD.size, _HEAD.unpack_from(frame)[1], head)
        return frame

    def _check_correlation_id(self, size: int, correlation_id: int, head: RequestHead) -> None:
        self._tools.metrics.upstream_bytes.add(size)
        if correlation_id != head.correlation_id:
            raise MalformedFrame(
                f"the broker at {self.address} answers request {correlation_id} instead of {head.correlation_id}"
            )

    async def read(self, size: int, held: HeldAnswerMemory) -> bytes:
        """The rest of an answer for which `held` has room. Raises: MalformedFrame, OSError."""
        claim = held.claim
        return await self.connection.read(size) if claim is None else await self._read_with_claim(size, claim)

    async def _read_with_claim(self, size: int, claim: Claim) -> bytes:
        """Reads an answer; if it comes too slowly while others wait for memory, its claim is taken away.

        Raises: MalformedFrame, OSError.
        """
        ms_a_byte = 1000 / max(1, self._tools.min_bytes_a_second)
        claim.allow_reclaim(partial(self._release_and_close, claim))
        try:
            return await self.connection.read(size, lambda count: claim.note_progress(count * ms_a_byte))
        except ConnectionResetError:
            if claim.size_bytes:
                raise
            raise MalformedFrame(
                f"the broker at {self.address} sends an answer of {size} bytes too slowly while others wait for the "
                "memory of answers; see stepdown.request.min.bytes.per.second"
            ) from None
        finally:
            claim.forbid_reclaim()
            claim.stalled_since_ms = None

    def _release_and_close(self, claim: Claim) -> None:
        claim.release()
        self.connection.close()
