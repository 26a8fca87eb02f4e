"""Asks a broker's dispatcher, without a socket."""

import asyncio
from typing import Any

from stepdown.broker.broker import Broker
from stepdown.network.answerer import Reply
from stepdown.network.peer import Peer
from stepdown.network.turn import Turn
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import encode_request


def frame_of(key: ApiKey, version: int, request: Any) -> memoryview:
    return memoryview(b"".join(encode_request(API[key], version, 1, "test", request))[4:])  # type: ignore[arg-type]


async def ask(broker: Broker, frame: memoryview) -> Reply:
    """The reply, as a connection would await it."""
    peer = Peer(host="127.0.0.1", port=1, listener="PLAINTEXT", turn=Turn(broker.turns, broker.long_requests))

    async def answer() -> Reply:
        peer.turn.begin()
        reply = broker._dispatcher.answer(frame, peer)
        return reply if isinstance(reply, Reply) else await reply

    reply = await asyncio.create_task(answer())
    if reply.claim is not None:
        reply.claim.release()
    return reply
