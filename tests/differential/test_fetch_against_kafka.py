"""The same Fetch bytes to Kafka 3.9.1 and to stepdown over copies of one directory give the same records.

Plain data is compared byte for byte, padding and cut messages included. Data that goes through a codec again is
compared as Kafka's own reader reads it, up to where either answer is cut: sizes are the codec library's business.
What differs on purpose is in docs/compatibility.md and has a test of its own in test_fetch_differences.py.
"""

from dataclasses import replace

import pytest
from support.clients_raw import FetchAsk, Raw, fetch_request
from support.differential import fetch_offsets, same_answers
from support.kafka_corpus import PARTITIONS, TOPIC_CONFIGS

pytestmark = pytest.mark.java

OLD_VERSIONS = (0, 1, 2, 3)
LIMITS = (1 << 20, 200_000, 20_000, 3_000)
# Slices of these topics may meet what stepdown does otherwise; test_fetch_differences.py looks at them.
WITH_DIFFERENCES = ("transactions", "mixed", "zstd-topic", "codec-zstd", "refused", "corrupt")


@pytest.mark.parametrize("version", OLD_VERSIONS, ids="v{}".format)
@pytest.mark.parametrize("topic", [topic for topic in TOPIC_CONFIGS if topic not in WITH_DIFFERENCES])
def test_an_old_fetch_is_answered_as_kafka_answers_it(pair, topic: str, version: int) -> None:
    for offset in fetch_offsets(pair.kafka, topic):
        for max_bytes in LIMITS:
            ask = FetchAsk(topic=topic, offset=offset, max_bytes=max_bytes)
            if not shows_what_fits(pair, version, ask):
                same_answers(pair, version, [ask])


def shows_what_fits(pair, version: int, ask: FetchAsk) -> bool:
    """Whether the first batch is above the limit up to v2: Kafka sends nothing, and here come the first bytes of it.

    The difference is on purpose, see `test_a_batch_above_the_limit_shows_what_fits_where_kafka_sends_nothing`.
    """
    if version == 3 or pair.kafka.fetch(version, [ask])[0].records:
        return False
    whole = pair.ours.fetch(version, [replace(ask, max_bytes=LIMITS[0])])[0]
    ours = pair.ours.fetch(version, [ask])[0]
    assert (ours.error, ours.high_watermark) == (whole.error, whole.high_watermark)
    records = ours.records or b""
    assert (whole.records or b"").startswith(records)
    assert len(records) <= ask.max_bytes
    assert bool(records) == bool(whole.records)
    return bool(records)


@pytest.mark.parametrize("topic", TOPIC_CONFIGS)
@pytest.mark.parametrize("isolation", [0, 1], ids=["uncommitted", "committed"])
def test_a_fetch_that_needs_no_conversion_gets_the_stored_bytes(pair, topic: str, isolation: int) -> None:
    for offset in fetch_offsets(pair.kafka, topic):
        for max_bytes in LIMITS:
            same_answers(pair, 4, [FetchAsk(topic=topic, offset=offset, max_bytes=max_bytes)], isolation=isolation)


@pytest.mark.parametrize("version", [*OLD_VERSIONS, 4], ids="v{}".format)
@pytest.mark.parametrize("limit", [1 << 30, 30_000, 5_000, 1], ids="{} bytes in all".format)
def test_many_partitions_share_a_limit_as_in_kafka(pair, version: int, limit: int) -> None:
    asks = [FetchAsk(topic="many", partition=p, max_bytes=4_000) for p in range(9)]
    asks += [FetchAsk(topic="codec-none", max_bytes=50_000), FetchAsk(topic="empty")]
    asks += [FetchAsk(topic="many", partition=p, offset=7, max_bytes=4_000) for p in range(9, PARTITIONS["many"])]

    frame = fetch_request(version, asks, max_bytes=limit)

    assert pair.ours.exchange(frame) == pair.kafka.exchange(frame)


@pytest.mark.parametrize("version", [*OLD_VERSIONS, 4], ids="v{}".format)
@pytest.mark.parametrize("offset", [-1, 10_000_000], ids=["before the start", "beyond the end"])
def test_an_offset_out_of_range_is_refused_alike(pair, version: int, offset: int) -> None:
    same_answers(pair, version, [FetchAsk(topic="codec-none", offset=offset), FetchAsk(topic="many")])


@pytest.mark.parametrize("version", [*OLD_VERSIONS, 4], ids="v{}".format)
def test_an_unknown_partition_is_refused_alike(pair, version: int) -> None:
    same_answers(pair, version, [FetchAsk(topic="nothing"), FetchAsk(topic="many", partition=99)])


@pytest.mark.parametrize("version", [*OLD_VERSIONS, 4], ids="v{}".format)
def test_what_is_unknown_is_answered_behind_the_rest(pair, version: int) -> None:
    asks = [FetchAsk(topic="nothing"), FetchAsk(topic="many", partition=99), FetchAsk(topic="many", partition=1)]
    frame = fetch_request(version, [*asks, FetchAsk(topic="codec-none", max_bytes=1000), asks[2]])

    assert pair.ours.exchange(frame) == pair.kafka.exchange(frame)


@pytest.mark.parametrize("topic", TOPIC_CONFIGS)
def test_offsets_are_listed_as_kafka_lists_them(pair, topic: str) -> None:
    def listed(client: Raw) -> list[object]:
        times = [-2, -1, 0, 1_600_000_000_000, 1_600_000_000_030, 1_600_000_500_000, 1_600_000_999_999, 1 << 50]
        by_time = [client.list_offsets(topic, timestamp=time) for time in times]
        by_file = [client.segment_offsets(topic, timestamp=time, most=most) for time in (-2, -1) for most in (1, 3)]
        return [*by_time, *by_file]

    assert listed(pair.ours) == listed(pair.kafka)
