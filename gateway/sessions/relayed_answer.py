"""Answers of the cluster that are sent to the client while they arrive."""

from collections.abc import Sequence

from ...network.answerer import CloseConnection
from ...network.sender import Sender, Wait
from ...protocol.schema import Piece
from ..upstream_connection import UpstreamConnection


class RelayedAnswer:
    """The rest of an answer, `size_bytes` long, which is read while it is sent."""

    is_in_file = False

    def __init__(self, upstream: UpstreamConnection, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._upstream = upstream
        self.left_bytes = size_bytes

    async def read(self) -> bytes:
        """The next bytes. Raises: CloseConnection when the cluster closes the connection before the end,
        ConnectionResetError when the client has gone."""
        try:
            data = await self._upstream.read_some(self.left_bytes)
        except ConnectionResetError:
            if self._upstream.was_closed_here:
                raise
            raise CloseConnection("the broker closed the connection within an answer") from None
        self.left_bytes -= len(data)
        return data


def is_relayed(pieces: Sequence[Piece] | None) -> bool:
    """Whether part of the answer is read while it is sent."""
    return pieces is not None and isinstance(pieces[-1], RelayedAnswer)


class RelayingSender(Sender):
    """A sender that also sends answers which are still arriving."""

    async def send(self, pieces: Sequence[Piece], wait: Wait | None = None) -> None:
        last = pieces[-1]
        if not isinstance(last, RelayedAnswer):
            return await super().send(pieces, wait)
        await super().send(pieces[:-1], wait)
        while last.left_bytes:
            await super().send((await last.read(),), wait)
        return None
