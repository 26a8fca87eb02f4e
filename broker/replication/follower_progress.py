"""The progress of one follower, as its leader knows it.

    fetches from the leader's log end                      caught up at the time of this fetch
    fetches from the log end as it was at its last fetch   caught up at the time of that last fetch
    waiting: it has everything, its fetch is parked        caught up all the while

Source: Kafka 3.9 `Replica`, `ReplicaState`.
"""

UNKNOWN = -1


class Follower:
    """One follower's offsets and times, renewed by its fetches.

    `sent_high_watermark` is the high watermark in the last answer to it.
    """

    __slots__ = (
        "_caught_up_ms",
        "_fetched_ms",
        "_leader_end_then",
        "end_offset",
        "is_waiting",
        "log_start_offset",
        "node_id",
        "sent_high_watermark",
    )

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.end_offset = UNKNOWN
        self.log_start_offset = UNKNOWN
        self.sent_high_watermark = UNKNOWN
        self.is_waiting = False
        self._caught_up_ms = 0
        self._fetched_ms = 0
        self._leader_end_then = UNKNOWN

    def begin_epoch(self, leader_end: int, now_ms: int, *, is_in_sync: bool, is_new_leader: bool) -> None:
        """Begins a leader epoch: a follower in the ISR counts as caught up now, another one as never caught up."""
        self._caught_up_ms = self._fetched_ms = now_ms if is_in_sync else 0
        self._leader_end_then = leader_end
        self.is_waiting = False
        self.sent_high_watermark = UNKNOWN
        if is_new_leader:
            self.end_offset = self.log_start_offset = self._leader_end_then = UNKNOWN
            self._fetched_ms = 0

    def note_fetch(self, fetch_offset: int, log_start_offset: int, leader_end: int, now_ms: int) -> None:
        """Notes a fetch from `fetch_offset`, which shows that the follower has all records before that."""
        if fetch_offset >= leader_end:
            self._caught_up_ms = max(self._caught_up_ms, now_ms)
        elif fetch_offset >= self._leader_end_then:
            self._caught_up_ms = max(self._caught_up_ms, self._fetched_ms)
        self.end_offset = fetch_offset
        self.log_start_offset = log_start_offset
        self._leader_end_then = max(leader_end, self._leader_end_then)
        self._fetched_ms = now_ms

    def stop_waiting(self, now_ms: int) -> None:
        """Ends the wait of its parked fetch, which is answered or cancelled."""
        if self.is_waiting:
            self.is_waiting = False
            self._caught_up_ms = self._fetched_ms = now_ms

    def lag_ms(self, now_ms: int) -> int:
        """How long ago it was last caught up."""
        return 0 if self.is_waiting else now_ms - self._caught_up_ms

    def is_caught_up(self, leader_end: int, now_ms: int, lag_time_max_ms: int) -> bool:
        return self.end_offset == leader_end or self.lag_ms(now_ms) <= lag_time_max_ms
