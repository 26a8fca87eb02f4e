"""What comes of a request while an answer waits for its reader is passed on, without another byte from the client."""

import asyncio
from types import SimpleNamespace
from typing import Any

from stepdown.network.byte_passage import BytePassage
from stepdown.protocol.frame import FrameParser
from support.deadline import DEADLINE_S

REQUEST = b"head and body"


class PasserOfWholeRequests:
    """Takes `REQUEST` once it is whole. An answer has stalled when its first part has come."""

    is_full = refuses = needs_more = has_stalled = is_finishing = is_busy = False

    def __init__(self) -> None:
        self.taken = asyncio.Event()

    def take(self, data: bytes) -> int:
        self.needs_more = data != REQUEST
        if self.needs_more:
            self.has_stalled = True
            return 0
        self.taken.set()
        return len(data)

    async def next_pieces(self) -> tuple[list[Any], None]:
        return [b"answer"], None

    def resume(self) -> None:
        self.has_stalled = False


async def test_the_rest_of_a_request_that_comes_while_an_answer_is_sent_is_passed_on() -> None:
    parser, passer = FrameParser(100), PasserOfWholeRequests()
    parser.feed(REQUEST[:4])

    async def send(pieces: list[Any], claim: None) -> None:
        parser.feed(REQUEST[4:])  # as a connection reads ahead while it sends

    passage = BytePassage(
        passer,  # type: ignore[arg-type]
        parser,
        lambda: None,
        send,
        passer.taken.is_set,
        lambda size: SimpleNamespace(release=lambda: None),  # type: ignore[arg-type, return-value]
        lambda: None,
    )

    async def go_on() -> None: ...

    async with asyncio.timeout(DEADLINE_S):
        await passage.run(go_on)
    assert parser.buffered_bytes == 0
