"""The connection of one client to one broker of the cluster: requests out, answers in, as bytes or as values."""

from typing import Any

from ...client.versions import VersionRanges
from ...config.keys.endpoints import HostPort
from ...network.memory_budget import Claim
from ...protocol.api import spec_of_request
from ...protocol.errors import MalformedFrame
from ...protocol.frame import decode_response, encode_request
from ..request_frame import RequestHead
from ..translations.call import Call
from ..upstream_connection import UpstreamConnection
from .session_tools import SessionTools

WHOLE_BYTES = 64 * 1024
"""An answer of at most this size is read before any of it is sent."""
MOST_HELD_BYTES = 256 << 20
"""Of an answer that is changed, and so held as a whole."""


class BrokerLink:
    """`versions`: what the broker takes. Whatever waits raises OSError when the connection breaks."""

    def __init__(
        self, tools: SessionTools, connection: UpstreamConnection, versions: VersionRanges, address: HostPort
    ) -> None:
        self.connection = connection
        self.versions = versions
        self.address = address
        self._tools = tools

    async def ask(
        self,
        request: Any,
        version: int,
        head: RequestHead,
        client_id: str | None,
        *,
        is_answered: bool,
        holder: Call | None,
    ) -> Any:
        """The response to a request on behalf of another one, which has that head; None if none is due. The claim of
        `holder`, if given, grows to the size of the answer.

        Raises: MalformedFrame, OSError.
        """
        spec = spec_of_request(request)
        await self.connection.send(encode_request(spec, version, head.correlation_id, client_id, request))
        if not is_answered:
            return None
        size = await self.read_head(head)
        body = await self._read_for(size, holder)
        return decode_response(spec, version, memoryview(b"\0\0\0\0" + body))[1]

    async def read_head(self, head: RequestHead) -> int:
        """The bytes of the answer to that request after its correlation id. Raises: MalformedFrame, OSError."""
        size, correlation_id = await self.connection.read_head()
        self._tools.metrics.upstream_bytes.add(size)
        if correlation_id != head.correlation_id:
            raise MalformedFrame(
                f"the broker at {self.address} answers request {correlation_id} instead of {head.correlation_id}"
            )
        return size

    async def read_whole(self, size: int) -> tuple[bytes, Claim | None]:
        """An answer that has to be held, and the memory that it is charged with if it is not small.

        Raises: MalformedFrame, OSError.
        """
        if size > MOST_HELD_BYTES:
            raise MalformedFrame(
                f"the broker at {self.address} answers with {size} bytes, {MOST_HELD_BYTES} is the most"
            )
        if size <= WHOLE_BYTES:
            return await self.connection.read(size), None
        claim = self._tools.memory.try_claim(size) or await self._tools.memory.claim(size)
        try:
            return await self.connection.read(size), claim
        except BaseException:
            claim.release()
            raise

    async def _read_for(self, size: int, holder: Call | None) -> bytes:
        """An answer that is charged to the claim of `holder`, which grows to its size; that may wait for others."""
        claim = None if holder is None else holder.claim
        if holder is None or claim is None or size > claim.size_bytes:
            if claim is not None:
                claim.release()
            body, claim = await self.read_whole(size)
            if holder is not None:
                holder.claim = claim
            elif claim is not None:
                claim.release()  # the response that is made of it is small
            return body
        return await self.connection.read(size)
