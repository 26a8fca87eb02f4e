import asyncio

import pytest
from stepdown.broker.scheduling.purgatory import Purgatory
from stepdown.network.peer import Peer
from support.clock import ManualClock, settle


async def test_a_request_that_is_satisfied_does_not_wait() -> None:
    assert await Purgatory(ManualClock()).wait(["p"], lambda _: True, 1000)


async def test_an_event_on_a_watched_key_wakes_the_request() -> None:
    purgatory, arrived = Purgatory(ManualClock()), False
    parked = asyncio.create_task(purgatory.wait(["p", "q"], lambda _: arrived, 1000))
    await settle()
    purgatory.notify("q")
    await settle()
    assert not parked.done()
    arrived = True
    purgatory.notify("other")
    await settle()
    assert not parked.done()
    purgatory.notify("q")
    assert await parked
    assert len(purgatory) == 0


async def test_time_running_out_wakes_the_request_and_leaves_nothing_behind() -> None:
    clock = ManualClock()
    purgatory = Purgatory(clock)
    parked = asyncio.create_task(purgatory.wait(["p"], lambda _: False, 500))
    await settle()
    await clock.advance(499)
    assert not parked.done()
    await clock.advance(1)
    assert await parked is False
    assert len(purgatory) == 0
    purgatory.notify("p")


async def test_closing_wakes_everybody() -> None:
    purgatory = Purgatory(ManualClock())
    parked = asyncio.create_task(purgatory.wait(["p"], lambda _: False, 500))
    await settle()
    purgatory.close()
    await parked
    assert not await purgatory.wait(["p"], lambda _: False, 500)


async def test_what_a_waiter_raises_is_its_own_and_not_of_whom_brought_the_news() -> None:
    """An append failed, though it was written, when a fetch that waited for it could not be read."""
    purgatory = Purgatory(ManualClock())
    looks = iter((False,))

    def broken(key: object) -> bool:
        if next(looks, True):
            raise ValueError("unreadable")
        return False

    waiting = asyncio.create_task(purgatory.wait(["key"], broken, 100))
    await settle()
    purgatory.notify("key")
    with pytest.raises(ValueError, match="unreadable"):
        await waiting
    assert len(purgatory) == 0


async def test_a_peer_that_leaves_ends_its_wait() -> None:
    purgatory, peer = Purgatory(ManualClock()), Peer(host="127.0.0.1", port=1, listener="PLAINTEXT")
    waiting = asyncio.create_task(purgatory.wait(["key"], lambda _: False, 100, peer=peer))
    await settle()
    peer.note_departure()
    await waiting
    assert (len(purgatory), peer.on_leave) == (0, None)
    peer.note_departure()


async def test_nobody_waits_for_who_has_left_before() -> None:
    """A client that hung up while its large fetch was read left it, and its connection, for up to 24 days."""
    purgatory = Purgatory(ManualClock())
    peer = Peer(host="", port=0, listener="")
    peer.note_departure()
    assert await purgatory.wait(["a"], lambda _: False, 1000, peer=peer)
    assert not purgatory.watched
