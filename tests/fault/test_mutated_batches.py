"""Damaged batches, thrown at everything that reads them: each is read or refused, never anything else."""

from random import Random

import pytest
from stepdown.protocol.errors import CorruptRecord, InvalidRecord, PeerFault, RecordTooLarge, UnsupportedCompression
from stepdown.protocol.records import kernel
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.conversion.down import convert_down
from stepdown.protocol.records.conversion.record_stream import RecordStream, run_loop
from stepdown.protocol.records.conversion.up import convert_up
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.legacy_batch import LegacyBatch
from support.mutations import damaged_batch

LIMIT = 4 << 20
REFUSALS = (CorruptRecord, InvalidRecord, RecordTooLarge, UnsupportedCompression)


def throw_at_everything(random: Random) -> None:
    data = b"".join(damaged_batch(random, random.choice((0, 5, 1 << 62))) for _ in range(random.choice((1, 1, 2))))
    out = bytearray(random.choice((0, 4096)))
    for target in 0, 1:
        arguments = {
            "target": target,
            "first_offset": random.choice((0, 7)),
            "zstd_to": random.choice((None, Codec.NONE)),
        }
        refused(lambda target=target: kernel.convert_plain(data, 0, target, 0, None))
        refused(lambda arguments=arguments: convert_down(data, out=out, max_opened_bytes=LIMIT, **arguments))
    refused(lambda: [list(batch.records(LIMIT)) for batch in iter_batches(data)])
    refused(lambda: go_up(data, out))
    refused(
        lambda: run_loop(RecordStream([data[61:]]), kernel.RecordSurvey(random.choice((1, 3)), 0, None), out.extend)
    )


def refused(work) -> None:
    try:
        work()
    except PeerFault as fault:
        assert isinstance(fault, REFUSALS)
        assert str(fault)


def go_up(data: bytes, out: bytearray) -> None:
    messages = [batch for batch in iter_batches(data) if isinstance(batch, LegacyBatch)]
    if messages:
        convert_up(messages, bytearray().extend, max_opened_bytes=LIMIT)


def test_damaged_batches_are_read_or_refused():
    random = Random(20261121)
    for _ in range(2000):
        throw_at_everything(random)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_thousand_damaged_batches_are_read_or_refused(seed):
    random = Random(seed)
    for _ in range(10_000):
        throw_at_everything(random)
