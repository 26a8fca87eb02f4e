"""No handler holds the event loop, whatever a request asks for. Its steps are counted in calls, not in seconds."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.handlers import SERVED
from stepdown.protocol.api import API, ApiKey
from support.asking import ask, frame_of
from support.large_requests import large_requests
from support.loop_calls import MOST_CALLS, Calls
from support.running import running_broker

MOST_ITEMS = 20_000
SKIPPED = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})


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


@pytest.mark.lengthy
@pytest.mark.parametrize("key", [key for key in SERVED if key not in SKIPPED], ids=lambda key: key.name)
async def test_no_step_of_a_handler_holds_the_loop(
    key: ApiKey, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = SERVED[key].last
    calls = Calls(broker.turns)
    limit = min(MOST_ITEMS, SERVED[key].limit, broker.settings.stepdown_request_max_items)
    for name, request in large_requests(API[key].request, version, limit - 1):
        frame = frame_of(key, version, request)
        with calls.counted(monkeypatch):
            await ask(broker, frame)
        assert calls.most <= MOST_CALLS, name
    assert broker.answer_memory.in_use_bytes == 0
    assert not broker.long_requests.is_full
    assert broker.unread_answers.in_use_bytes == 0
