"""A fetch of 50 MB may name 330,000 aborted transactions, which held the loop for half a second."""

from pathlib import Path

import pytest
from stepdown.protocol.api import ApiKey
from stepdown.protocol.records.builder import build_batch
from stepdown.storage.index.transaction_index import AbortedTransaction
from support.asking import ask, frame_of
from support.fetching import connect, create, fetch, fetched, produce, records
from support.loop_calls import MOST_CALLS, Calls
from support.running import running_broker

MANY = 20_000


@pytest.mark.lengthy
async def test_many_aborted_transactions_are_named_in_order_and_hold_the_loop_for_no_step_of_20_ms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        await produce(client, "t", build_batch(records(100)))
        index = broker.cluster.partition("t", 0).log.segments.active.ensure_transaction_index()
        aborted = [(number, (number * 37) % 97) for number in range(MANY)]
        for producer_id, first_offset in aborted:
            index.append(AbortedTransaction(producer_id, first_offset, 98, 1))
        calls = Calls(broker.turns)
        frame = frame_of(ApiKey.FETCH, 11, fetch("t", isolation_level=1))
        with calls.counted(monkeypatch):
            await ask(broker, frame)
        assert calls.most <= MOST_CALLS
        answer = await fetched(client, fetch("t", isolation_level=1), 11)
        told = [(each.producer_id, each.first_offset) for each in answer.aborted_transactions]
        assert told == sorted(aborted, key=lambda pair: pair[1])
