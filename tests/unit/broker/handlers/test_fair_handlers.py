"""No handler holds the event loop, whatever a request asks for. Its steps are counted in calls, not in seconds."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.handlers import SERVED
from stepdown.network.answerer import Reply
from stepdown.network.peer import Peer
from stepdown.network.turn import Turn
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import encode_request
from support.large_requests import large_requests
from support.running import running_broker

CALLS_A_SECOND = 5_000_000
"""What time is made of here. A function of Python or C takes 0.1 to 0.3 µs with what it does by itself."""
MOST_CALLS = CALLS_A_SECOND // 50
"""20 ms."""
MOST_ITEMS = 20_000
SKIPPED = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})


class Calls:
    """Counts the functions that are called in the event loop's thread, and the most of one step of the loop."""

    def __init__(self) -> None:
        self.count = 0
        self.most = 0

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            self.count += 1

    @contextmanager
    def counted(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        run = asyncio.events.Handle._run
        self.most = 0

        def run_step(handle: Any) -> None:
            before = self.count
            run(handle)
            self.most = max(self.most, self.count - before)

        monkeypatch.setattr(asyncio.events.Handle, "_run", run_step)
        sys.setprofile(self.note)
        try:
            yield
        finally:
            sys.setprofile(None)
            monkeypatch.undo()


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


@pytest.fixture(params=["everything", "nothing"])
async def broker(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Broker]:
    rights = (
        {}
        if request.param == "everything"
        else {
            "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super_users": "User:admin",
        }
    )
    async with running_broker(tmp_path, auto_create_topics_enable="false", **rights) as broker:
        yield broker


@pytest.mark.parametrize("key", [key for key in SERVED if key not in SKIPPED], ids=lambda key: key.name)
async def test_no_step_of_a_handler_holds_the_loop(
    key: ApiKey, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = SERVED[key].last
    calls = Calls()
    broker.turns.elapsed_s = lambda: calls.count / CALLS_A_SECOND
    limit = min(MOST_ITEMS, SERVED[key].limit, broker.settings.stepdown_request_max_items)
    for name, request in large_requests(API[key].request, version, limit - 1):
        frame = frame_of(key, version, request)
        with calls.counted(monkeypatch):
            await ask(broker, frame)
        assert calls.most <= MOST_CALLS, name
    assert broker.answer_memory.in_use_bytes == 0
    assert not broker.long_requests.is_full
    assert broker.unread_answers.in_use_bytes == 0
