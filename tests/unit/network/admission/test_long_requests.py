"""What requests had built that waited for a place was counted nowhere: 1,200 ended a broker in a small container."""

import asyncio

import pytest
from stepdown.network.admission.kept_bytes import KeptBytes
from stepdown.network.admission.long_requests import BUILT_BYTES, LongRequests
from stepdown.network.answerer import CloseConnection
from support.clock import ManualClock, settle

MOST_WAITING = 3


@pytest.fixture
def unread() -> KeptBytes:
    most_bytes = MOST_WAITING * BUILT_BYTES
    return KeptBytes(most_bytes, most_bytes, ManualClock())


@pytest.fixture
def places(unread: KeptBytes) -> LongRequests:
    return LongRequests(1, unread)


async def ask(places: LongRequests, *networks: str) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(places.acquire(network)) for network in networks]
    await settle()
    return tasks


async def test_the_next_one_has_a_place_when_one_is_left(places: LongRequests, unread: KeptBytes) -> None:
    first, second, third = await ask(places, "a", "a", "a")
    assert [first.done(), second.done(), third.done()] == [True, False, False]
    places.release()
    await settle()
    assert [second.done(), third.done()] == [True, False]
    places.release()
    await third
    places.release()
    assert not places.is_full
    assert unread.in_use_bytes == 0


async def test_networks_have_the_next_place_by_turns(places: LongRequests) -> None:
    """A thousand long requests of one address kept those of all others waiting for all of them."""
    _, second, third, other = await ask(places, "a", "a", "a", "b")
    places.release()
    await second
    places.release()
    await settle()
    assert [other.done(), third.done()] == [True, False]


async def test_of_too_many_that_wait_the_oldest_of_the_network_with_most_is_closed(
    places: LongRequests, unread: KeptBytes
) -> None:
    _, other, *many = await ask(places, "a", "b", *"aaaa")
    assert [each.done() for each in (other, *many)] == [False, True, True, False, False]
    for refused in many[:2]:
        with pytest.raises(CloseConnection, match="takes long"):
            await refused
    for waiting in (other, *many[2:]):
        places.release()
        await waiting
    places.release()
    assert not places.is_full
    assert unread.in_use_bytes == 0


@pytest.mark.parametrize("is_granted", [False, True])
async def test_who_leaves_takes_no_place(places: LongRequests, unread: KeptBytes, is_granted: bool) -> None:
    _, leaving = await ask(places, "a", "a")
    if is_granted:
        places.release()
    leaving.cancel()
    await settle()
    if not is_granted:
        places.release()
    assert not places.is_full
    assert unread.in_use_bytes == 0
