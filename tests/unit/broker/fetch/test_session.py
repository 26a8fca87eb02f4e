"""Fetch sessions as one machine: who gets one, what it remembers, who has to make room (KIP-227)."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from stepdown.broker.fetch import session
from stepdown.broker.fetch.session import EVICTION_AGE_MS, LAST_EPOCH, FetchContext, FetchSessions
from stepdown.protocol.errors import ApiError, ErrorCode
from stepdown.protocol.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)

NO_ID, TOPIC_ID = UUID(int=0), UUID(int=77)
FIRST_MS = 1_000_000


class Cache:
    """A cache of sessions, the time, and how many were evicted."""

    def __init__(self, slots: int = 10) -> None:
        self.evicted = 0
        self.now_ms = FIRST_MS
        self.sessions = FetchSessions(slots, self._evict, lambda: self.now_ms)

    def _evict(self) -> None:
        self.evicted += 1

    def open(self, request: FetchRequest, version: int = 11) -> FetchContext:
        return self.sessions.open(request, version)

    def start(self, partitions: int = 1, **more: Any) -> int:
        """The id of a new session over so many partitions; 0 when there was no room."""
        return self.open(full(partitions=range(partitions), **more)).session_id

    def knows(self, session_id: int) -> bool:
        """Whether a session is still there; an epoch that cannot be right leaves it as it is."""
        with pytest.raises(ApiError) as refused:
            self.open(FetchRequest(session_id=session_id, session_epoch=LAST_EPOCH))
        return refused.value.code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def asked(partitions: Sequence[int], *, offset: int = 0, topic: str = "t", topic_id: UUID = NO_ID) -> FetchTopic:
    wanted = tuple(FetchPartition(partition=p, fetch_offset=offset, partition_max_bytes=100) for p in partitions)
    return FetchTopic(topic=topic, topic_id=topic_id, partitions=wanted)


def full(session_id: int = 0, epoch: int = 0, *, partitions: Sequence[int] = (0,), **more: Any) -> FetchRequest:
    topics = (asked(partitions),) if partitions else ()
    return FetchRequest(session_id=session_id, session_epoch=epoch, topics=topics, **more)


def incremental(
    session_id: int, epoch: int, *topics: FetchTopic, forget: Sequence[int] = (), forgotten: str = "t"
) -> FetchRequest:
    gone = (ForgottenTopic(topic=forgotten, partitions=tuple(forget)),) if forget else ()
    return FetchRequest(session_id=session_id, session_epoch=epoch, topics=topics, forgotten_topics_data=gone)


def wanted(context: FetchContext) -> list[tuple[int, int]]:
    """(partition, fetch offset) in the order in which they are served."""
    return [(interest.index, interest.fetch_offset) for interest in context.interests]


def told(context: FetchContext, **answers: Any) -> list[int]:
    """The partitions that a client hears of when all are quiet at high watermark 10, except those given as p0, p1…"""
    quiet = {"high_watermark": 10, "log_start_offset": 0, "records": b""}
    given = [
        (interest, PartitionData(partition_index=interest.index, **{**quiet, **answers.get(f"p{interest.index}", {})}))
        for interest in context.interests
    ]
    return [data.partition_index for _, data in context.select(given)]


def refused(cache: Cache, request: FetchRequest, version: int = 11) -> ErrorCode:
    with pytest.raises(ApiError) as error:
        cache.open(request, version)
    return error.value.code


def test_a_full_fetch_with_epoch_0_opens_a_session_that_is_at_epoch_1() -> None:
    cache = Cache()
    first = cache.open(full(partitions=(2, 0, 1)))
    assert first.session_id > 0
    assert not first.is_incremental
    assert wanted(cache.open(incremental(first.session_id, 1))) == [(2, 0), (0, 0), (1, 0)]


def test_a_session_may_begin_with_nothing_and_be_filled_later() -> None:
    cache = Cache()
    session_id = cache.start(0)
    assert session_id > 0
    assert wanted(cache.open(incremental(session_id, 1, asked((3,), offset=7)))) == [(3, 7)]


@pytest.mark.parametrize("version", [4, 6])
def test_versions_without_sessions_get_none_whatever_their_fields_say(version: int) -> None:
    cache = Cache()
    assert cache.open(full(), version).session_id == 0
    assert len(cache.sessions) == 0


@pytest.mark.parametrize(("epoch", "remaining"), [(-1, 0), (0, 1)])
def test_a_full_fetch_closes_the_session_it_names(epoch: int, remaining: int) -> None:
    cache = Cache()
    session_id = cache.start()
    again = cache.open(full(session_id, epoch))
    assert len(cache.sessions) == remaining
    assert not cache.knows(session_id)
    assert (again.session_id > 0) == (remaining > 0)


def test_a_session_nobody_knows_is_not_found() -> None:
    assert refused(Cache(), incremental(5, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [2, 7, -2, LAST_EPOCH])
def test_another_epoch_than_the_sessions_is_refused_and_changes_nothing(epoch: int) -> None:
    cache = Cache()
    session_id = cache.start(2)
    assert refused(cache, incremental(session_id, epoch, forget=(0,))) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert len(cache.open(incremental(session_id, 1)).interests) == 2


def test_a_repeated_request_is_refused_by_its_epoch() -> None:
    cache = Cache()
    session_id = cache.start()
    cache.open(incremental(session_id, 1))
    assert refused(cache, incremental(session_id, 1)) == ErrorCode.INVALID_FETCH_SESSION_EPOCH


@pytest.mark.parametrize(("made_in", "used_in"), [(12, 13), (13, 12)])
def test_a_session_keeps_to_names_or_to_ids(made_in: int, used_in: int) -> None:
    cache = Cache()
    session_id = cache.open(full(), made_in).session_id
    assert refused(cache, incremental(session_id, 1), used_in) == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert not cache.open(incremental(session_id, 1), made_in).is_overtaken


def test_the_epoch_after_the_last_is_1() -> None:
    cache = Cache()
    session_id = cache.start()
    session = cache.open(incremental(session_id, 1)).session
    assert session is not None
    session.epoch = LAST_EPOCH
    cache.open(incremental(session_id, LAST_EPOCH))
    assert session.epoch == 1


def test_partitions_are_added_renewed_and_forgotten() -> None:
    cache = Cache()
    session_id = cache.start(3)
    request = incremental(session_id, 1, asked((1,), offset=5), asked((8,)), forget=(0,))
    assert wanted(cache.open(request)) == [(1, 5), (2, 0), (8, 0)]


def test_a_partition_both_wanted_and_forgotten_is_forgotten() -> None:
    cache = Cache()
    session_id = cache.start(2)
    assert wanted(cache.open(incremental(session_id, 1, asked((1,), offset=5), forget=(1,)))) == [(0, 0)]


def test_partitions_of_a_session_by_id_are_forgotten_by_id() -> None:
    cache = Cache()
    topics = (asked((0, 1), topic="", topic_id=TOPIC_ID),)
    session_id = cache.open(FetchRequest(session_epoch=0, topics=topics), 13).session_id
    gone = (ForgottenTopic(topic_id=TOPIC_ID, partitions=(0,)),)
    request = FetchRequest(session_id=session_id, session_epoch=1, forgotten_topics_data=gone)
    assert wanted(cache.open(request, 13)) == [(1, 0)]


def test_a_session_left_empty_is_closed() -> None:
    cache = Cache()
    session_id = cache.start(2)
    last = cache.open(incremental(session_id, 1, forget=(0, 1)))
    assert (last.session_id, last.is_incremental, len(cache.sessions)) == (0, False, 0)


def test_a_partition_named_twice_is_wanted_once_on_its_last_terms() -> None:
    request = FetchRequest(session_epoch=-1, topics=(asked((0, 1), offset=3), asked((0,), offset=9)))
    assert wanted(Cache().open(request)) == [(0, 9), (1, 3)]


def test_the_first_answer_tells_everything() -> None:
    assert told(Cache().open(full(partitions=range(3)))) == [0, 1, 2]


NEWS = [
    pytest.param({"records": b"x"}, id="records"),
    pytest.param({"high_watermark": 11}, id="high-watermark"),
    pytest.param({"log_start_offset": 4}, id="log-start"),
    pytest.param({"preferred_read_replica": 2}, id="preferred-replica"),
    pytest.param({"diverging_epoch": EpochEndOffset(epoch=1, end_offset=3)}, id="divergence"),
    pytest.param({"error_code": ErrorCode.OFFSET_OUT_OF_RANGE}, id="error"),
]


@pytest.mark.parametrize("news", NEWS)
def test_later_answers_tell_only_what_is_new(news: dict[str, Any]) -> None:
    cache = Cache()
    first = cache.open(full(partitions=range(3)))
    told(first)
    session_id = first.session_id
    assert told(cache.open(incremental(session_id, 1))) == []
    assert told(cache.open(incremental(session_id, 2)), p1=news) == [1]


def test_what_was_told_once_is_not_told_again() -> None:
    cache = Cache()
    first = cache.open(full(partitions=range(2)))
    told(first)
    moved = {"high_watermark": 11, "log_start_offset": 4}
    assert told(cache.open(incremental(first.session_id, 1)), p1=moved) == [1]
    assert told(cache.open(incremental(first.session_id, 2)), p1=moved) == []


def test_an_added_partition_is_told_of_even_when_it_is_quiet() -> None:
    cache = Cache()
    first = cache.open(full())
    told(first)
    assert told(cache.open(incremental(first.session_id, 1, asked((5,))))) == [5]


def test_the_end_of_an_error_is_told_although_nothing_else_has_changed() -> None:
    cache = Cache()
    first = cache.open(full(partitions=range(2)))
    told(first)
    error = {"error_code": ErrorCode.KAFKA_STORAGE_ERROR}
    assert told(cache.open(incremental(first.session_id, 1)), p0=error) == [0]
    assert told(cache.open(incremental(first.session_id, 2)), p0=error) == [0]
    assert told(cache.open(incremental(first.session_id, 3))) == [0]
    assert told(cache.open(incremental(first.session_id, 4))) == []


def test_partitions_that_gave_data_go_to_the_end_of_the_line() -> None:
    cache = Cache()
    first = cache.open(full(partitions=range(4)))
    told(first)
    data = {"records": b"x"}
    told(cache.open(incremental(first.session_id, 1)), p0=data, p2=data, p3={"high_watermark": 12})
    assert [index for index, _ in wanted(cache.open(incremental(first.session_id, 2)))] == [1, 3, 0, 2]


def test_the_first_answer_leaves_the_order_as_it_was_asked_for() -> None:
    cache = Cache()
    first = cache.open(full(partitions=range(3)))
    told(first, p0={"records": b"x"})
    assert [index for index, _ in wanted(cache.open(incremental(first.session_id, 1)))] == [0, 1, 2]


def test_an_answer_comes_too_late_when_the_session_has_gone_on() -> None:
    cache = Cache()
    session_id = cache.start()
    slow = cache.open(incremental(session_id, 1))
    assert not slow.is_overtaken
    quick = cache.open(incremental(session_id, 2))
    assert slow.is_overtaken
    assert not quick.is_overtaken


# Who has to make room


def test_without_room_the_client_goes_on_without_a_session() -> None:
    cache = Cache(slots=1)
    first = cache.start(1)
    assert cache.start(5) == 0
    assert cache.knows(first)
    assert cache.evicted == 0


def test_no_slots_mean_no_sessions() -> None:
    assert Cache(slots=0).start() == 0


def test_the_session_idle_for_longest_makes_room_once_it_is_idle_for_long() -> None:
    cache = Cache(slots=2)
    stale, fresh = cache.start(9), cache.start(1)
    cache.now_ms += EVICTION_AGE_MS
    cache.open(incremental(fresh, 1))
    assert cache.start(1) == 0
    cache.now_ms += 1
    assert cache.start(1) > 0
    assert not cache.knows(stale)
    assert cache.knows(fresh)
    assert cache.evicted == 1


@pytest.mark.parametrize(("size", "gets_in"), [(2, False), (3, False), (4, True)])
def test_an_old_session_in_use_makes_room_for_a_larger_one_only(size: int, gets_in: bool) -> None:
    cache = Cache(slots=1)
    old = cache.start(3)
    cache.now_ms += EVICTION_AGE_MS + 1
    cache.open(incremental(old, 1))
    assert (cache.start(size) > 0) == gets_in
    assert cache.knows(old) != gets_in


def test_the_smallest_of_the_old_sessions_makes_room() -> None:
    cache = Cache(slots=3)
    ids = [cache.start(size) for size in (4, 2, 3)]
    cache.now_ms += EVICTION_AGE_MS + 1
    for session_id in ids:
        cache.open(incremental(session_id, 1))
    assert cache.start(9) > 0
    assert [cache.knows(session_id) for session_id in ids] == [True, False, True]


def test_age_is_counted_to_the_last_use() -> None:
    cache = Cache(slots=1)
    session_id = cache.start(1)
    cache.now_ms += EVICTION_AGE_MS
    cache.open(incremental(session_id, 1))
    cache.now_ms += EVICTION_AGE_MS
    assert cache.start(9) == 0


@pytest.mark.parametrize("version", [11, 16])
def test_a_follower_displaces_a_consumers_session_of_any_age_and_size(version: int) -> None:
    cache = Cache(slots=1)
    consumer = cache.start(9)
    by = {"replica_id": 3} if version < 15 else {"replica_state": ReplicaState(replica_id=3)}
    follower = cache.open(full(partitions=(0,), **by), version).session_id
    assert follower > 0
    assert not cache.knows(consumer)
    assert cache.start(100) == 0


def test_a_follower_does_not_displace_a_young_session_of_another() -> None:
    cache = Cache(slots=1)
    first = cache.start(1, replica_id=3)
    assert cache.start(9, replica_id=4) == 0
    assert cache.knows(first)


def test_a_consumer_never_displaces_a_follower_in_use_however_old() -> None:
    cache = Cache(slots=1)
    follower = cache.start(1, replica_id=3)
    cache.now_ms += EVICTION_AGE_MS + 1
    cache.open(incremental(follower, 1))
    assert cache.start(100) == 0
    assert cache.start(2, replica_id=4) > 0


def test_the_cache_counts_its_partitions() -> None:
    cache = Cache()
    cache.start(3)
    session_id = cache.start(4)
    cache.open(incremental(session_id, 1, forget=(0,)))
    assert (len(cache.sessions), cache.sessions.partitions) == (2, 6)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Cache:
    """A cache whose sessions may have ten partitions in all."""
    monkeypatch.setattr(session, "MOST_PARTITIONS", 10)
    return Cache()


def test_all_sessions_together_have_only_so_many_partitions(few: Cache) -> None:
    first = few.start(6)
    assert not few.start(5)
    assert few.start(4)
    assert (few.knows(first), few.sessions.partitions) == (True, 10)


def test_all_sessions_together_keep_only_so_many_bytes_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions were counted, their names were not: each request of 32 MB was kept as a session."""
    monkeypatch.setattr(session, "MOST_NAME_BYTES", 10)
    cache = Cache()

    def start(*topics: str) -> int:
        wanted = tuple(asked((0,), topic=topic) for topic in topics)
        return cache.open(FetchRequest(session_epoch=0, topics=wanted)).session_id

    first = start("12345")
    assert first
    assert not start("12345678901")
    assert not start("123", "456")
    assert start("12", "345")
    assert (cache.knows(first), cache.sessions.name_bytes) == (True, 10)
    assert refused(cache, incremental(first, 1, asked((0,), topic="6"))) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert cache.sessions.name_bytes == 5
    second = start("12345")
    cache.open(incremental(second, 1, asked((1,), topic="t"), forget=(0,), forgotten="12345"))
    assert cache.sessions.name_bytes == 6


def test_an_idle_session_makes_room_for_the_partitions_of_another(few: Cache) -> None:
    few.start(6)
    few.now_ms += EVICTION_AGE_MS + 1
    assert few.start(9)
    assert (few.evicted, few.sessions.partitions) == (1, 9)


def test_a_session_that_grows_too_large_is_lost(few: Cache) -> None:
    growing = few.start(6)
    with pytest.raises(ApiError) as refused:
        few.open(incremental(growing, 1, asked(range(6, 11))))
    assert refused.value.code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert few.sessions.partitions == 0
