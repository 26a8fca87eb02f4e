"""How often the sender looks at everything: as seldom as it can."""

import asyncio

import pytest
from stepdown.producer.sender.network_interface import NetworkAnswer
from stepdown.producer.sender.sender import Sender
from support.producing import Asked, producing


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The time of each pass."""
    seen: list[int] = []
    run_once = Sender.run_once

    def noting(self: Sender, now_ms: int) -> int:
        seen.append(now_ms)
        return run_once(self, now_ms)

    monkeypatch.setattr(Sender, "run_once", noting)
    return seen


def answer_alone(asked: Asked) -> None:
    """As a connection does that has read this answer and no more."""
    done = asked.done
    asked.done = lambda answer: done(NetworkAnswer(answer.response, alone=True))
    asked.answer()


async def test_what_is_sent_by_one_who_was_told_goes_with_the_same_pass(passes: list[int]) -> None:
    async with producing() as stage:

        async def one_by_one() -> None:
            for number in range(3):
                await stage.producer.send("t", b"%d" % number)

        sending = asyncio.create_task(one_by_one())
        [asked] = await stage.produced()
        for number in range(2):
            passes.clear()
            answer_alone(asked)
            assert passes == []
            [asked] = await stage.produced()
            assert asked.values() == [b"%d" % (number + 1)] and len(passes) == 1
        answer_alone(asked)
        await sending


async def test_what_is_left_in_a_queue_goes_as_soon_as_an_answer_makes_room(passes: list[int]) -> None:
    async with producing(max_in_flight_requests_per_connection=1) as stage:
        stage.producer.send("t", b"0")
        [asked] = await stage.produced()
        stage.producer.send("t", b"1")
        assert await stage.produced() == [asked]
        passes.clear()
        answer_alone(asked)
        assert len(passes) == 1
        [asked] = stage.cluster.open
        assert asked.values() == [b"1"]
        answer_alone(asked)


async def test_those_who_wait_for_memory_need_no_pass_of_their_own(passes: list[int]) -> None:
    async with producing(batch_size=100, buffer_memory=300) as stage:
        stage.producer.send("t", b"0")
        [asked] = await stage.produced()
        sent = [stage.producer.send("t", b"x" * 40) for _ in range(20)]
        await stage.produced()
        passes.clear()
        sent += [stage.producer.send("t", b"x" * 40) for _ in range(20)]
        await stage.produced()
        assert passes == []
        while asked := stage.cluster.open:
            asked[0].answer()
            await stage.produced()
        assert [(await delivery).offset for delivery in sent] == list(range(1, 41))
