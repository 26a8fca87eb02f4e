"""Where stepdown answers an old fetch otherwise than Kafka 3.9.1, on purpose: docs/compatibility.md tells why.

Each test shows both sides, so that a Kafka that changes its mind is noticed too.
"""

from itertools import pairwise

import pytest
from support.broker import under_test
from support.clients_raw import FetchAnswer, FetchAsk, Raw
from support.differential import TOO_LARGE, differs, fetch_offsets, same_answers, stored_batches
from support.kafka_sets import ReadRecord, read_sets

pytestmark = [
    pytest.mark.java,
    pytest.mark.skipif(under_test() == "kafka", reason="Kafka does not differ from itself"),
]

UNSUPPORTED_VERSION, CORRUPT_MESSAGE, UNSUPPORTED_COMPRESSION_TYPE = 35, 2, 76
OLD_VERSIONS = (0, 1, 2, 3)
versions = pytest.mark.parametrize("version", OLD_VERSIONS, ids="v{}".format)


def fetch(client: Raw, version: int, topic: str, offset: int, max_bytes: int = 1 << 20) -> FetchAnswer:
    return client.fetch(version, [FetchAsk(topic=topic, offset=offset, max_bytes=max_bytes)])[0]


def records(answer: FetchAnswer) -> list[ReadRecord]:
    """Return what a consumer reads in an answer, headers and timestamps left out."""
    return [record for batch in read_sets(answer.records or b"") for record in batch.records]


@versions
def test_a_refused_fetch_has_empty_records_where_kafka_has_null(pair, version: int) -> None:
    for topic, code in (
        ("refused", UNSUPPORTED_VERSION),
        ("zstd-topic", UNSUPPORTED_COMPRESSION_TYPE),
        ("codec-zstd", UNSUPPORTED_COMPRESSION_TYPE),
    ):
        kafka, ours = fetch(pair.kafka, version, topic, 0), fetch(pair.ours, version, topic, 0)

        assert (kafka.error, kafka.high_watermark, kafka.records) == (code, -1, None)
        assert (ours.error, ours.high_watermark, ours.records) == (code, -1, b"")


@pytest.mark.parametrize("version", OLD_VERSIONS[:3], ids="v{}".format)
def test_a_batch_above_the_limit_shows_what_fits_where_kafka_sends_nothing(pair, version: int) -> None:
    kafka, ours = (fetch(client, version, "large-none", 0, max_bytes=60) for client in (pair.kafka, pair.ours))

    assert (kafka.error, kafka.records) == (0, b"")
    whole = fetch(pair.ours, version, "large-none", 0).records
    assert (ours.error, ours.records) == (0, whole[:60])


@versions
def test_data_after_a_marker_comes_once_where_kafka_sends_it_twice(pair, version: int) -> None:
    stored = stored_batches(pair.kafka, "transactions")
    followed = [one for one, after in pairwise(stored) if one.is_control and not after.is_control]
    twice = 0
    for marker in followed:
        kafka, ours = (fetch(client, version, "transactions", marker.base_offset) for client in (pair.kafka, pair.ours))

        theirs, mine = records(kafka), records(ours)
        offsets = [record.offset for record in mine]
        assert offsets == sorted(set(offsets)), "each record once, in order"
        assert all(record in mine for record in theirs)
        twice += len(theirs) > len({record.offset for record in theirs})
    assert twice, "Kafka sends the first batch twice, unless the second copy is cut in its first message"


@versions
def test_markers_alone_are_an_empty_set_where_kafka_sends_an_unfinished_message(pair, version: int) -> None:
    last = stored_batches(pair.kafka, "transactions")[-1]
    assert last.is_control

    kafka, ours = (fetch(client, version, "transactions", last.base_offset) for client in (pair.kafka, pair.ours))

    assert (kafka.error, kafka.records) == (0, TOO_LARGE)
    assert (ours.error, ours.records) == (0, b"")


@versions
def test_transactions_are_otherwise_converted_as_in_kafka(pair, version: int) -> None:
    markers = {one.base_offset for one in stored_batches(pair.kafka, "transactions") if one.is_control}
    for offset in set(fetch_offsets(pair.kafka, "transactions")) - markers:
        for max_bytes in (1 << 20, 20_000, 3_000):
            same_answers(pair, version, [FetchAsk(topic="transactions", offset=offset, max_bytes=max_bytes)])


@versions
def test_batches_before_one_of_zstd_are_sent_where_kafka_pads_or_hangs_up(pair, brokers, version: int) -> None:
    stored = stored_batches(pair.kafka, "mixed")
    first_zstd = next(index for index, one in enumerate(stored) if one.codec == "zstd")
    for index in range(first_zstd):
        ours = fetch(pair.ours, version, "mixed", stored[index].base_offset)
        mine = records(ours)

        assert ours.error == 0
        assert mine[-1].offset == stored[first_zstd].base_offset - 1
        with Raw(brokers.kafka.address) as kafka:
            try:
                theirs = records(fetch(kafka, version, "mixed", stored[index].base_offset))
            except EOFError:
                continue
            assert mine[: len(theirs)] == theirs


@versions
def test_a_fetch_that_begins_at_a_zstd_batch_is_refused(pair, version: int) -> None:
    for one in stored_batches(pair.kafka, "mixed"):
        if one.codec == "zstd":
            assert fetch(pair.kafka, version, "mixed", one.base_offset).error == UNSUPPORTED_COMPRESSION_TYPE
            assert fetch(pair.ours, version, "mixed", one.base_offset).error == UNSUPPORTED_COMPRESSION_TYPE


@versions
def test_a_corrupt_batch_is_an_error_where_kafka_gives_it_a_new_checksum(pair, version: int) -> None:
    assert [one.offset for one in records(fetch(pair.kafka, version, "corrupt", 0))] == [0, 1, 2]
    assert [one.offset for one in records(fetch(pair.ours, version, "corrupt", 0))] == [0]

    assert fetch(pair.kafka, version, "corrupt", 1).error == 0
    assert fetch(pair.ours, version, "corrupt", 1).error == CORRUPT_MESSAGE
    assert differs(version, fetch(pair.kafka, version, "corrupt", 2), fetch(pair.ours, version, "corrupt", 2)) is None
