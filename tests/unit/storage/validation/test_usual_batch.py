"""The short way of a batch that stays as it is: it ends where the checks of every other record set end."""

import random
from collections.abc import Callable

import pytest
from stepdown.protocol.errors import ApiError
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from stepdown.storage.validation import record_sets as append
from stepdown.storage.validation.append_rules import AppendRules
from stepdown.storage.validation.prepared_append import AppendOrigin, PreparedAppend
from stepdown.storage.validation.usual_batch import prepare_usual
from support.record_sets import BATCH_FIELDS, NOW, inputs, patched, record_set, records

TOPICS = {
    "defaults": AppendRules(),
    "plain": AppendRules(codec=Codec.NONE),
    "gzip": AppendRules(codec=Codec.GZIP),
    "append time": AppendRules(stamps_append_time=True),
    "compacted": AppendRules(compacted=True),
    "recent": AppendRules(timestamp_before_max_ms=25, timestamp_after_max_ms=5),
    "small": AppendRules(max_message_bytes=100),
}
MOST_OPENED = 128 * 1024
Outcome = PreparedAppend | tuple[type[ApiError], int, str]


def outcome(data: bytes, rules: AppendRules, origin: AppendOrigin) -> Outcome:
    try:
        return append.prepare(memoryview(data), rules, now_ms=NOW, origin=origin)
    except ApiError as refusal:
        return type(refusal), refusal.code, str(refusal)


def broken_streams(codec: Codec) -> dict[str, bytes]:
    """A batch with one byte of its compressed records changed, or without the last ones, the checksum right."""
    batch = record_set(
        2, codec, content=[Record(offset=n, value=b"value-%d" % (n % 7), timestamp=NOW) for n in range(50)]
    )
    chance = random.Random(23)
    changed = {"cut": patched(batch[:8] + (len(batch) - 15).to_bytes(4, "big") + batch[12:-3])}
    for at in chance.sample(range(61, len(batch)), 12):
        changed[f"byte {at}"] = patched(batch[:at] + bytes([chance.randrange(256)]) + batch[at + 1 :])
    return changed


def patches(codec: Codec) -> dict[str, bytes]:
    """A batch of a producer with one field of its header changed, the checksum right."""
    batch = record_set(2, codec, producer_id=5, producer_epoch=1, base_sequence=7)
    chance = random.Random(14)
    values = (0, 1, 2, 3, 4, 16, 32, 48, 64, 127)
    return {
        f"{field} {value}": patched(batch, **{field: value})
        for field in BATCH_FIELDS
        for value in chance.sample(values, 5) + [-1] * (field != "crc")
    }


SETS = {
    f"{codec.name} {name}": data for codec in Codec for name, data in (inputs(2, codec) | patches(codec)).items()
} | {f"{codec.name} {name}": data for codec in Codec if codec for name, data in broken_streams(codec).items()}


@pytest.mark.parametrize("origin", AppendOrigin)
@pytest.mark.parametrize("topic", TOPICS)
def test_it_changes_nothing_about_what_becomes_of_a_record_set(
    topic: str, origin: AppendOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = TOPICS[topic]
    short = {name: outcome(data, rules, origin) for name, data in SETS.items()}
    monkeypatch.setattr(append, "prepare_usual", lambda *_: None)
    long = {name: outcome(data, rules, origin) for name, data in SETS.items()}
    assert short == long


@pytest.mark.parametrize(
    ("topic", "codec"),
    [*(("defaults", codec) for codec in Codec), ("plain", Codec.NONE), ("gzip", Codec.GZIP), ("recent", Codec.LZ4)],
)
def test_a_batch_that_stays_as_it_is_takes_it(topic: str, codec: Codec) -> None:
    data = memoryview(record_set(2, codec, content=records(NOW - 20, NOW - 10)))
    prepared = prepare_usual(data, TOPICS[topic], NOW, AppendOrigin.CLIENT, MOST_OPENED)
    assert prepared is not None
    assert prepared.body.obj is data.obj


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda data: data[:-1], id="cut"),
        pytest.param(lambda data: data + b"\0", id="longer"),
        pytest.param(lambda data: data[:61], id="no-records"),
        pytest.param(lambda data: b"", id="nothing"),
        pytest.param(lambda data: patched(data, crc=1), id="checksum"),
        pytest.param(lambda data: patched(data, max_timestamp=5), id="newest-timestamp"),
        pytest.param(lambda data: patched(data, base_offset=1), id="base-offset"),
    ],
)
def test_what_is_wrong_does_not(changed: Callable[[bytes], bytes]) -> None:
    data = memoryview(changed(record_set(2)))
    assert prepare_usual(data, AppendRules(), NOW, AppendOrigin.CLIENT, MOST_OPENED) is None
