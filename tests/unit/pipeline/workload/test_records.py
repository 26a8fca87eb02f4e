"""What a workload holds."""

from collections import Counter
from itertools import chain
from typing import Any

import pytest
from stepdown.pipeline.workload.records import CHUNK_RECORDS, START_MS, LoadRecord, Workload
from stepdown.protocol.records.layout import Codec


def records_of(**settings: Any) -> list[LoadRecord]:
    workload = Workload(**settings)
    return list(chain.from_iterable(workload.make_chunk(number) for number in workload.chunk_numbers))


def test_the_same_seed_gives_the_same_records_and_another_others() -> None:
    settings = {"records": 500, "size": 40, "keys": "zipf", "partitions": 3}
    assert records_of(**settings) == records_of(**settings)
    assert records_of(**settings) != records_of(**settings, seed=1)


def test_a_chunk_does_not_depend_on_the_others() -> None:
    workload = Workload(records=3 * CHUNK_RECORDS, size=10, keys="uniform")
    last = list(workload.make_chunk(2))
    assert len(list(workload.make_chunk(0))) == CHUNK_RECORDS
    assert list(workload.make_chunk(2)) == last


def test_a_shorter_workload_is_the_beginning_of_a_longer_one() -> None:
    long = records_of(records=CHUNK_RECORDS + 10, size=8)
    assert len(long) == CHUNK_RECORDS + 10
    assert records_of(records=CHUNK_RECORDS, size=8) == long[:CHUNK_RECORDS]


def test_values_have_their_size_and_timestamps_count_milliseconds() -> None:
    records = records_of(records=10, size=123)
    assert {len(record.value) for record in records} == {123}
    assert [record.timestamp for record in records] == list(range(START_MS, START_MS + 10))


def test_null_keys_go_round_the_partitions() -> None:
    records = records_of(records=7, partitions=3)
    assert [record.partition for record in records] == [0, 1, 2, 0, 1, 2, 0]
    assert {record.key for record in records} == {None}


def test_a_key_stays_in_its_partition() -> None:
    places = {(record.key, record.partition) for record in records_of(records=2000, partitions=4, keys="uniform")}
    assert len(places) == len({key for key, _ in places})
    assert {partition for _, partition in places} == {0, 1, 2, 3}


def test_zipf_keys_are_rarer_the_further_down_the_list_they_are() -> None:
    counts = Counter(record.key for record in records_of(records=20_000, keys="zipf", distinct_keys=100, size=1))
    assert counts[b"key-00000000"] > 1.5 * counts[b"key-00000001"] > 2 * counts[b"key-00000009"]
    uniform = Counter(record.key for record in records_of(records=20_000, keys="uniform", distinct_keys=100, size=1))
    assert max(uniform.values()) < 2 * min(uniform.values())


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"magic": 1, "codec": Codec.ZSTD}, "magic 1 has no zstd"),
        ({"partitions": 0}, "partitions"),
        ({"size": -1}, "size"),
        ({"topic": "a b/../c"}, "other characters than ASCII letters"),
    ],
)
def test_what_no_producer_can_write_is_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Workload(records=1, **settings)
