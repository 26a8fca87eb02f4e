"""Charges one request to the quotas of its user and client id, and computes the throttle time.

`UNLIMITED` is used where no quota is set. Of several quotas the one with the longest wait counts.
"""

from ...protocol.errors import ApiError, ErrorCode
from .client_quotas import ClientQuotas
from .quota_lookup import Entity
from .usage_metrics import FETCH, MUTATION, PRODUCE, REQUEST


class RequestQuota:
    """A request without limits; the base class of those with limits."""

    __slots__ = ()

    def fetch_limit(self, max_bytes: int) -> int:
        """The most bytes that a fetch may return: more than a whole window allows would have to wait for ever."""
        return max_bytes

    def count_fetch(self, size_bytes: int) -> int:
        """Counts the bytes that a fetch would return; returns the ms to wait first.

        Above 0 nothing is counted or returned.

        One batch that is larger than a whole window allows would wait for ever. A client that has used nothing in this
        window gets it and waits afterwards (Kafka never returns it).
        """
        return 0

    def count_mutations(self, partitions: int, *, strict_from: int) -> None:
        """Counts partitions that are to be created or deleted.

        Raises: ApiError THROTTLING_QUOTA_EXCEEDED in versions from `strict_from` on when the quota is used up; older
        versions are served and wait.
        """


UNLIMITED = RequestQuota()


class LimitedRequest(RequestQuota):
    """Charges a request to the quotas of its user and client; `throttle_ms` is the wait after it."""

    __slots__ = ("_client_id", "_longest", "_quotas", "_user", "_version", "throttle_ms")

    def __init__(self, quotas: ClientQuotas, user: str, client_id: str, version: int) -> None:
        self._quotas = quotas
        self._user = user
        self._client_id = client_id
        self._version = version
        self._longest: tuple[str, Entity] | None = None
        self.throttle_ms = 0

    def count_throttling(self) -> int:
        """Counts the throttle time in the metrics, after all else is counted; returns `throttle_ms`."""
        if self._longest is not None:
            self._quotas.usage.count_throttling(*self._longest, self.throttle_ms)
        return self.throttle_ms

    def _note_wait(self, throttle_ms: int, kind: str, entity: Entity) -> int:
        if throttle_ms > self.throttle_ms:
            self.throttle_ms, self._longest = throttle_ms, (kind, entity)
        return throttle_ms

    def count_produce(self, size_bytes: int) -> None:
        """Counts a produce request."""
        quota = self._quotas.producer_byte_rate.find(self._user, self._client_id)
        if quota is not None:
            now_ms = self._quotas.clock.monotonic_ms()
            rate = self._quotas.produced.of(quota.entity)
            rate.record(size_bytes, now_ms)
            self._quotas.usage.count_bytes(PRODUCE, quota.entity, size_bytes)
            self._note_wait(rate.excess_ms(quota.bound, now_ms), PRODUCE, quota.entity)

    def fetch_limit(self, max_bytes: int) -> int:
        quota = self._quotas.consumer_byte_rate.find(self._user, self._client_id)
        return max_bytes if quota is None else min(max_bytes, self._quotas.burst_bytes(quota))

    def count_fetch(self, size_bytes: int) -> int:
        quota = self._quotas.consumer_byte_rate.find(self._user, self._client_id)
        if quota is None:
            return 0
        now_ms = self._quotas.clock.monotonic_ms()
        rate = self._quotas.fetched.of(quota.entity)
        is_idle = rate.measure(now_ms) <= 0
        rate.record(size_bytes, now_ms)
        throttle_ms = self._note_wait(rate.excess_ms(quota.bound, now_ms), FETCH, quota.entity)
        if throttle_ms and not (is_idle and size_bytes > self._quotas.burst_bytes(quota)):
            rate.record(-size_bytes, now_ms)
            return throttle_ms
        self._quotas.usage.count_bytes(FETCH, quota.entity, size_bytes)
        return 0

    def count_work(self, seconds: float) -> None:
        """Counts the time that the request kept the broker busy; the wait for it is a window at most."""
        quota = self._quotas.request_percentage.find(self._user, self._client_id)
        if quota is not None:
            now_ms = self._quotas.clock.monotonic_ms()
            rate = self._quotas.busy.of(quota.entity)
            rate.record(100 * seconds, now_ms)
            throttle_ms = min(rate.excess_ms(quota.bound, now_ms), self._quotas.window_s * 1000)
            self._note_wait(throttle_ms, REQUEST, quota.entity)

    def count_mutations(self, partitions: int, *, strict_from: int) -> None:
        quota = self._quotas.controller_mutation_rate.find(self._user, self._client_id)
        if quota is None:
            return
        now_ms = self._quotas.clock.monotonic_ms()
        bucket = self._quotas.mutations.of(quota.entity)
        is_strict = self._version >= strict_from
        if is_strict and self._note_wait(bucket.debt_ms(quota.bound, now_ms), MUTATION, quota.entity):
            raise ApiError(
                "the quota of changes to partitions is used up; ask again later", ErrorCode.THROTTLING_QUOTA_EXCEEDED
            )
        bucket.record(partitions, quota.bound, now_ms)
        if not is_strict:
            self._note_wait(bucket.debt_ms(quota.bound, now_ms), MUTATION, quota.entity)
