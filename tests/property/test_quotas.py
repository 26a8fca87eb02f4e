"""How long clients have to wait, against Kafka's own measures."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepdown.broker.quotas.rate import LONGEST_WAIT_MS, Rate
from stepdown.broker.quotas.token_bucket import TokenBucket

pytestmark = pytest.mark.java

steps = st.lists(
    st.tuples(st.one_of(st.integers(0, 50), st.integers(0, 30_000)), st.integers(0, 5000)), min_size=1, max_size=60
)
bounds = st.integers(1, 2000)


def payload(samples: int, window_s: int, bound: int, events: list[tuple[int, int]]) -> bytes:
    packed = b"".join(struct.pack(">iq", *event) for event in events)
    return struct.pack(">iiq", samples, window_s, bound) + packed


def waits(answer: bytes) -> list[int]:
    return [wait for (wait,) in struct.iter_unpack(">q", answer)]


def test_rates_make_wait_as_long_as_kafkas(java_oracle):
    oracle = java_oracle("quotas")

    @settings(max_examples=200, database=None)
    @given(samples=st.integers(2, 11), window_s=st.integers(1, 3), bound=bounds, events=steps)
    def check(samples, window_s, bound, events):
        rate, now_ms, mine = Rate(samples, window_s * 1000), 1_000_000, []
        for later_ms, value in events:
            now_ms += later_ms
            rate.record(value, now_ms)
            mine.append(rate.excess_ms(bound, now_ms))
        theirs = waits(oracle.call("Quotas.rate", payload(samples, window_s, bound, events)))
        assert mine == [min(wait, LONGEST_WAIT_MS) for wait in theirs]

    check()


def test_tokens_make_wait_as_long_as_kafkas(java_oracle):
    oracle = java_oracle("quotas")

    @settings(max_examples=200, database=None)
    @given(samples=st.integers(2, 11), window_s=st.integers(1, 3), bound=bounds, events=steps)
    def check(samples, window_s, bound, events):
        bucket, now_ms, mine = TokenBucket(samples * window_s), 10**12, []
        for later_ms, value in events:
            now_ms += later_ms
            bucket.record(value, bound, now_ms)
            mine.append(bucket.debt_ms(bound, now_ms))
        theirs = waits(oracle.call("Quotas.tokens", payload(samples, window_s, bound, events)))
        theirs = [min(wait, LONGEST_WAIT_MS) for wait in theirs]
        assert all(abs(one - other) <= 1 for one, other in zip(mine, theirs, strict=True)), (mine, theirs)

    check()
