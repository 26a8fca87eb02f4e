"""One look at a whole batch, by the compiled kernel and by its readable twin."""

import random
from typing import Any

import pytest
from stepdown.protocol.records import kernel
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from support.record_sets import NOW, batch_with_body, inputs, patched, record_set, records, with_wrong_checksum
from support.twin import load_twin


@pytest.fixture(params=["compiled", "twin"])
def glance(request: pytest.FixtureRequest) -> Any:
    look = kernel.validate_and_survey if request.param == "compiled" else load_twin().validate_and_survey
    return lambda data, opened=None: look(data, opened)


def test_it_tells_the_span_of_times_and_whether_a_key_is_missing(glance: Any) -> None:
    assert glance(record_set(2)) == (NOW - 30, NOW - 10, False)
    assert glance(record_set(2, content=records(NOW, key=None))) == (NOW, NOW, True)
    assert glance(record_set(2, content=records(-1, -1))) == (-1, -1, False)
    assert glance(record_set(2, producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)) is not None


def test_it_takes_batches_that_drop_the_lock(glance: Any) -> None:
    assert glance(record_set(2, content=records(*range(NOW, NOW + 400)))) == (NOW, NOW + 399, False)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_it_tells_of_a_compressed_batch_by_what_it_opens_to(glance: Any, codec: Codec) -> None:
    plain = record_set(2)
    opened = plain[61:]
    assert glance(record_set(2, codec), opened) == glance(plain) == (NOW - 30, NOW - 10, False)
    assert glance(plain, opened) is None
    assert glance(record_set(2, codec), b"") is None
    assert glance(record_set(2, codec), opened[:-1]) is None
    assert glance(record_set(2, codec), opened + opened) is None
    assert glance(record_set(2, codec), opened[len(opened) // 3 :]) is None


def test_it_tells_nothing_of_a_compressed_batch_with_records_out_of_order(glance: Any) -> None:
    in_order, with_gap = (
        record_set(2, content=[Record(offset=n, timestamp=NOW) for n in offsets])[61:]
        for offsets in ((0, 1, 2), (0, 1, 3))
    )
    data = batch_with_body(in_order, 3, Codec.LZ4)
    assert glance(data, in_order) is not None
    assert glance(data, with_gap) is None


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(record_set(2)[:61], id="a-head"),
        pytest.param(record_set(2)[:-1], id="cut"),
        pytest.param(record_set(2) * 2, id="two"),
        pytest.param(record_set(1), id="magic-1"),
        pytest.param(record_set(2, Codec.GZIP), id="compressed"),
        pytest.param(with_wrong_checksum(record_set(2)), id="checksum"),
        pytest.param(patched(record_set(2), attributes=8), id="append-time"),
        pytest.param(patched(record_set(2), attributes=32), id="control"),
        pytest.param(patched(record_set(2), record_count=2), id="count"),
        pytest.param(patched(record_set(2), record_count=4, last_offset_delta=3), id="a-record-missing"),
        pytest.param(patched(record_set(2), record_count=2, last_offset_delta=1), id="a-record-more"),
        pytest.param(patched(record_set(2), max_timestamp=NOW), id="newest-timestamp"),
    ],
)
def test_it_tells_nothing_of_any_other_batch(glance: Any, data: bytes) -> None:
    assert glance(data) is None


def test_both_see_the_same_in_batches_with_bytes_changed() -> None:
    twin, chance = load_twin().validate_and_survey, random.Random(27)
    for data in (data for data in inputs(2, Codec.NONE).values() if len(data) > 61):
        for _ in range(20):
            changed = bytearray(data)
            for _ in range(chance.randint(0, 2)):
                changed[chance.randrange(61, len(changed))] = chance.choice([0, 1, 2, 0x7F, 0x80, 0xFF])
            mended = patched(bytes(changed))
            assert kernel.validate_and_survey(mended, None) == twin(mended, None)
