"""Where a translated fetch is converted: in the event loop, or in a worker thread, which takes twice the CPU."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from support.fetching import create, fetch, fetched, produce, read
from support.gateway import running_gateway

BATCHES = 12


def batch(codec: Codec, value_bytes: int, first: int) -> bytes:
    """Of three records that no codec makes smaller."""
    values = [Random(first + each).randbytes(value_bytes) for each in range(3)]
    return build_batch([Record(offset=at, timestamp=1, value=value) for at, value in enumerate(values)], codec=codec)


@pytest.mark.parametrize(
    ("codec", "value_bytes", "is_in_worker"),
    [
        (Codec.NONE, 20_000, False),
        (Codec.LZ4, 5_000, False),
        (Codec.SNAPPY, 5_000, False),
        (Codec.LZ4, 20_000, True),
        (Codec.GZIP, 100, True),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
async def test_what_takes_little_time_is_converted_in_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: Codec, value_bytes: int, is_in_worker: bool
) -> None:
    """A worker thread converted all but small uncompressed sets: the fetch took three times the CPU."""
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        async with await stage.connect_to_broker() as own:
            await create(own, "orders")
            for first in range(BATCHES):
                await produce(own, "orders", batch(codec, value_bytes, first))
        workers, used = stage.gateway._workers, []
        run = workers.run

        def run_and_note(work: Callable[[], Any], *more: Any) -> Any:
            used.append(work)
            return run(work, *more)

        monkeypatch.setattr(workers, "run", run_and_note)
        found = read((await fetched(client, fetch("orders", max_bytes=1 << 20), 2)).records)
    assert [each[0] for each in found] == list(range(3 * BATCHES))
    assert bool(used) is is_in_worker


async def test_batches_before_one_that_cannot_be_converted_are_given(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        async with await stage.connect_to_broker() as own:
            await create(own, "orders")
            for first in range(BATCHES):
                await produce(own, "orders", batch(Codec.LZ4, 5_000, first))
            await produce(own, "orders", batch(Codec.ZSTD, 100, BATCHES))
        answer = await fetched(client, fetch("orders", max_bytes=1 << 20), 2)
        refused = await fetched(client, fetch("orders", 3 * BATCHES, max_bytes=1 << 20), 2)
    assert [each[0] for each in read(answer.records)] == list(range(3 * BATCHES))
    assert (answer.error_code, refused.error_code) == (0, -1)
