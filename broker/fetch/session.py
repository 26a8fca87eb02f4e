"""Fetch sessions (KIP-227): the broker remembers a client's partitions, so requests and responses carry only changes.

| request (session id, epoch) | meaning |
|---|---|
| (any, -1) | full fetch without a session; a given session is closed |
| (any, 0) | full fetch that asks for a session; a given one is closed |
| (id, n > 0) | incremental: the session's partitions, less those forgotten, plus those given |

Versions below 7 behave as (0, -1). The epoch is 1 after creation and grows by one with every incremental fetch, from
2^31-1 to 1. A client without a session names all its partitions in each request.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.fetch import FetchRequest, PartitionData
from ...protocol.primitives import size_of

EVICTION_AGE_MS = 120_000
MOST_PARTITIONS = 150_000
"""The partitions of all sessions together; each takes about 300 bytes."""
MOST_NAME_BYTES = 100 * MOST_PARTITIONS
"""The bytes of the topic names of all sessions: clients choose the names, and a name may have 32 kB."""
LAST_EPOCH = (1 << 31) - 1
FULL_WITHOUT_SESSION = -1
FULL_WITH_SESSION = 0
FIRST_VERSION_WITH_SESSIONS = 7
FIRST_VERSION_WITH_TOPIC_IDS = 13
FIRST_VERSION_WITH_REPLICA_STATE = 15

Key = tuple[object, int]


@dataclass(slots=True)
class Interest:
    """A partition that a client fetches, and the offsets in its last response (-1: none yet)."""

    topic: str
    topic_id: UUID
    index: int
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    last_fetched_epoch: int
    sent_high_watermark: int = -1
    sent_log_start: int = -1

    @property
    def key(self) -> Key:
        return (self.topic_id if self.topic_id.int else self.topic), self.index

    def update_request_params(self, other: "Interest") -> None:
        """Takes over the offset, limit and epochs of a new request."""
        self.fetch_offset = other.fetch_offset
        self.max_bytes = other.max_bytes
        self.current_leader_epoch = other.current_leader_epoch
        self.last_fetched_epoch = other.last_fetched_epoch

    def update_response_data(self, data: PartitionData) -> bool:
        """Keeps the offsets of this answer; returns whether a client with the previous answer needs it."""
        news = bool(
            records_size(data) or data.error_code or data.preferred_read_replica >= 0 or data.diverging_epoch.epoch >= 0
        )
        if data.high_watermark != self.sent_high_watermark:
            self.sent_high_watermark, news = data.high_watermark, True
        if data.log_start_offset != self.sent_log_start:
            self.sent_log_start, news = data.log_start_offset, True
        if data.error_code:
            self.sent_high_watermark = -1
        return news


def records_size(data: PartitionData) -> int:
    """The size of the records in one partition's answer."""
    return 0 if data.records is None else size_of(data.records)


def interests_of(request: FetchRequest) -> Iterable[Interest]:
    """The partitions of a request, in its order; for a partition named twice the last params count."""
    found: dict[Key, Interest] = {}
    for topic in request.topics:
        name, topic_id = topic.topic, topic.topic_id
        key: object = topic_id if topic_id.int else name
        for asked in topic.partitions:
            index = asked.partition
            found[key, index] = Interest(  # by position: this runs for each partition of each full fetch
                name, topic_id, index, asked.fetch_offset, asked.partition_max_bytes,
                asked.current_leader_epoch, asked.last_fetched_epoch,
            )  # fmt: skip
    return found.values()


def is_from_follower(request: FetchRequest, version: int) -> bool:
    return replica_id_of(request, version) >= 0


def replica_id_of(request: FetchRequest, version: int) -> int:
    """The id of the broker that fetches; -1 for a consumer."""
    return request.replica_id if version < FIRST_VERSION_WITH_REPLICA_STATE else request.replica_state.replica_id


class FetchSession:
    """The partitions of one client's session, in the order in which they will be served."""

    def __init__(
        self, session_id: int, interests: Iterable[Interest], *, by_id: bool, privileged: bool, now_ms: int
    ) -> None:
        self.session_id = session_id
        self.by_id = by_id
        self.privileged = privileged
        self.epoch = 1
        self.created_ms = self.last_used_ms = now_ms
        self.interests = {interest.key: interest for interest in interests}
        self.name_bytes = sum(len(interest.topic) for interest in self.interests.values())

    @property
    def eviction_rank(self) -> tuple[bool, int, int]:
        return self.privileged, len(self.interests), self.session_id

    @property
    def is_old(self) -> bool:
        """Whether it was last used so long after its start that a larger one may replace it."""
        return self.last_used_ms - self.created_ms > EVICTION_AGE_MS

    def update(self, request: FetchRequest) -> None:
        """Updates and adds the partitions of an incremental request, then removes its forgotten ones."""
        for interest in interests_of(request):
            known = self.interests.get(interest.key)
            if known is None:
                self.interests[interest.key] = interest
                self.name_bytes += len(interest.topic)
            else:
                known.update_request_params(interest)
        for topic in request.forgotten_topics_data:
            name: object = topic.topic_id if topic.topic_id.int else topic.topic
            for index in topic.partitions:
                gone = self.interests.pop((name, index), None)
                self.name_bytes -= len(gone.topic) if gone is not None else 0

    def advance_epoch(self) -> None:
        self.epoch = 1 if self.epoch == LAST_EPOCH else self.epoch + 1

    def move_to_end(self, interest: Interest) -> None:
        """Moves a partition that had data to the end of the order."""
        self.interests[interest.key] = self.interests.pop(interest.key, interest)


@dataclass(slots=True, kw_only=True)
class FetchContext:
    """One fetch: the partitions to read, and the choice of answers that the client needs."""

    interests: Sequence[Interest]
    session: FetchSession | None = None
    is_incremental: bool = False
    epoch: int = 0

    @property
    def session_id(self) -> int:
        return 0 if self.session is None else self.session.session_id

    @property
    def is_overtaken(self) -> bool:
        """Whether a later fetch has advanced the session since this one began."""
        return self.is_incremental and self.session is not None and self.session.epoch != self.epoch

    def select(self, answers: list[tuple[Interest, PartitionData]]) -> list[tuple[Interest, PartitionData]]:
        """The answers to send."""
        if self.session is None and not self.is_incremental:
            return answers
        told = [
            (interest, data)
            for interest, data in answers
            if interest.update_response_data(data) or not self.is_incremental
        ]
        if self.session is not None and self.is_incremental:
            for interest, data in told:
                if records_size(data):
                    self.session.move_to_end(interest)
        return told


class FetchSessions:
    """The sessions of one broker, at most `slots`. `partitions` and `name_bytes` are the sums of all sessions."""

    def __init__(self, slots: int, on_eviction: Callable[[], None], monotonic_ms: Callable[[], int]) -> None:
        self._slots = slots
        self._monotonic_ms = monotonic_ms
        self._on_eviction = on_eviction
        self._sessions: dict[int, FetchSession] = {}
        self.partitions = self.name_bytes = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def interests(self, session_id: int) -> Sequence[Interest]:
        """The partitions of the session; none if there is no such session."""
        session = self._sessions.get(session_id)
        return () if session is None else tuple(session.interests.values())

    def open(self, request: FetchRequest, version: int) -> FetchContext:
        """The context of a request, with a new session or a known one.

        Raises ApiError with the codes 70, 71 and 106.
        """
        is_full = request.session_epoch in (FULL_WITHOUT_SESSION, FULL_WITH_SESSION)
        if version >= FIRST_VERSION_WITH_SESSIONS and not is_full:
            return self._resume(request, version, self._monotonic_ms())
        interests = tuple(interests_of(request))
        if version < FIRST_VERSION_WITH_SESSIONS:
            return FetchContext(interests=interests)
        self.forget(request.session_id)
        if request.session_epoch == FULL_WITHOUT_SESSION:
            return FetchContext(interests=interests)
        by_id, privileged = version >= FIRST_VERSION_WITH_TOPIC_IDS, is_from_follower(request, version)
        session = self._create(interests, by_id=by_id, privileged=privileged, now_ms=self._monotonic_ms())
        return FetchContext(interests=interests, session=session)

    def forget(self, session_id: int) -> None:
        """Drops a session, if it is there."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self.partitions -= len(session.interests)
            self.name_bytes -= session.name_bytes

    def _resume(self, request: FetchRequest, version: int, now_ms: int) -> FetchContext:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise ApiError(f"no fetch session {request.session_id}", ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise ApiError(
                f"fetch session {request.session_id} is at epoch {session.epoch}, not {request.session_epoch}",
                ErrorCode.INVALID_FETCH_SESSION_EPOCH,
            )
        if session.by_id != (version >= FIRST_VERSION_WITH_TOPIC_IDS):
            raise ApiError(
                "the fetch session and the request differ in whether they use topic ids",
                ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
            )
        before, name_bytes_before = len(session.interests), session.name_bytes
        session.update(request)
        self.partitions += len(session.interests) - before
        self.name_bytes += session.name_bytes - name_bytes_before
        if not self._has_room():
            self.forget(session.session_id)
            raise ApiError("the fetch sessions have too many partitions", ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        session.last_used_ms = now_ms
        if not session.interests:
            self.forget(session.session_id)
            return FetchContext(interests=tuple(interests_of(request)))
        session.advance_epoch()
        return FetchContext(
            interests=tuple(session.interests.values()), session=session, is_incremental=True, epoch=session.epoch
        )

    def _create(
        self, interests: Sequence[Interest], *, by_id: bool, privileged: bool, now_ms: int
    ) -> FetchSession | None:
        session = FetchSession(self._free_id(), interests, by_id=by_id, privileged=privileged, now_ms=now_ms)
        if session.name_bytes > MOST_NAME_BYTES:
            return None
        while len(self._sessions) >= self._slots or not self._has_room(len(interests), session.name_bytes):
            if not self._evict_for(session, now_ms):
                return None
        self._sessions[session.session_id] = session
        self.partitions += len(interests)
        self.name_bytes += session.name_bytes
        return session

    def _has_room(self, partitions: int = 0, name_bytes: int = 0) -> bool:
        return self.partitions + partitions <= MOST_PARTITIONS and self.name_bytes + name_bytes <= MOST_NAME_BYTES

    def _free_id(self) -> int:
        while True:
            candidate = random.randint(1, LAST_EPOCH)
            if candidate not in self._sessions:
                return candidate

    def _evict_for(self, newcomer: FetchSession, now_ms: int) -> bool:
        """Makes room by evicting a session; returns whether it could.

        It evicts the session that was idle for longest, if that was for more than EVICTION_AGE_MS; else the least
        privileged and smallest that the newcomer may displace, if that one ranks below it. A follower may displace any
        consumer's session; others only old sessions.
        """
        if not self._sessions:
            return False
        victim = min(self._sessions.values(), key=lambda session: (session.last_used_ms, session.session_id))
        if now_ms - victim.last_used_ms <= EVICTION_AGE_MS:
            displaceable = [
                session
                for session in self._sessions.values()
                if session.is_old or (newcomer.privileged and not session.privileged)
            ]
            if not displaceable:
                return False
            victim = min(displaceable, key=lambda session: session.eviction_rank)
            if victim.eviction_rank[:2] >= newcomer.eviction_rank[:2]:
                return False
        self.forget(victim.session_id)
        self._on_eviction()
        return True
