"""`stepdown transactions` against a broker with transactions in it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from support.client import RawClient
from support.command import Finished, run_command
from support.running import running_broker
from support.transactions import SETTINGS, TransactionalClient, batches, make_topic

Command = Callable[..., Awaitable[Finished]]


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    """Transaction `open` has a record in a-0; `done` is committed."""
    async with running_broker(tmp_path / "data", log_retention_ms=-1, **SETTINGS) as broker:
        await make_topic(broker, "a")
        for name in ("open", "done"):
            client = await RawClient.connect(broker.address.host, broker.address.port)
            producer = TransactionalClient(client, name)
            await producer.init()
            await producer.add("a", 0, 1)
            await producer.produce("a", 0 if name == "open" else 1, b"x")
            if name == "done":
                await producer.end(commit=True)
            await client.close()
        await broker.transactions.await_markers()
        yield broker


@pytest.fixture
def transactions(broker: Broker) -> Command:
    """Runs `stepdown transactions …` against the broker."""

    async def run(*arguments: object) -> Finished:
        return await asyncio.to_thread(run_command, "transactions", *arguments, "-b", str(broker.address))

    return run


async def test_list_shows_ids_and_states(transactions: Command) -> None:
    listed = await transactions("list")
    assert [line.split()[:2] for line in listed.stdout.splitlines()[2:]] == [
        ["done", "CompleteCommit"],
        ["open", "Ongoing"],
    ]
    found = json.loads((await transactions("list", "--state", "Ongoing", "--json")).stdout)
    assert [(each["id"], each["state"]) for each in found] == [("open", "Ongoing")]
    assert json.loads((await transactions("list", "--longer-than-ms", 3_600_000, "--json")).stdout) == []


async def test_list_refuses_a_state_that_does_not_exist(transactions: Command) -> None:
    refused = await transactions("list", "--state", "Lost")
    assert refused.exit_code == 1
    assert "no state Lost" in refused.stderr


async def test_describe_shows_producer_and_partitions(transactions: Command) -> None:
    shown = await transactions("describe", "open")
    assert "a-0 a-1" in shown.stdout
    (found,) = json.loads((await transactions("describe", "open", "--json")).stdout)
    assert (found["state"], found["producer_epoch"], found["timeout_ms"]) == ("Ongoing", 0, 60_000)
    assert found["partitions"] == [{"topic": "a", "partition": 0}, {"topic": "a", "partition": 1}]


async def test_describe_fails_for_an_id_that_does_not_exist(transactions: Command) -> None:
    missing = await transactions("describe", "missing", "open")
    assert missing.exit_code == 1
    assert "missing: there is no such transactional id (TRANSACTIONAL_ID_NOT_FOUND)" in missing.stderr
    assert "`stepdown transactions list`" in missing.stderr
    assert "open" in missing.stdout


async def test_abort_ends_an_open_transaction(broker: Broker, transactions: Command) -> None:
    done = await transactions("abort", "open")
    assert (done.exit_code, done.stdout) == (0, "open: aborted\n")
    await broker.transactions.await_markers()
    assert batches(broker.cluster.partition("a", 0)) == ["data 0", "COMMIT 0", "ABORT 1"]
    again = await transactions("abort", "open", "--json")
    assert again.exit_code == 1
    assert json.loads(again.stdout)[0]["error"] == "INVALID_TXN_STATE"


async def test_abort_in_one_partition_needs_no_coordinator(broker: Broker, transactions: Command) -> None:
    producer_id = broker.transactions.find("open").now.producer_id
    arguments = ("abort", "--partition", "a:0", "--producer-id", producer_id)
    assert (await transactions(*arguments)).exit_code == 0
    assert broker.cluster.partition("a", 0).last_stable_offset == broker.cluster.partition("a", 0).high_watermark
    again = await transactions(*arguments)
    assert (again.exit_code, "no open transaction" in again.stderr) == (1, True)
    missing = await transactions("abort", "--partition", "b:0", "--producer-id", 1)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in missing.stderr


@pytest.mark.parametrize("arguments", [(), ("t", "--partition", "a:0"), ("--partition", "a:0"), ("--producer-id", 1)])
async def test_abort_wants_ids_or_a_place(transactions: Command, arguments: tuple[object, ...]) -> None:
    assert (await transactions("abort", *arguments)).exit_code == 2


async def test_a_place_is_a_topic_and_a_number(transactions: Command) -> None:
    refused = await transactions("abort", "--partition", "a", "--producer-id", 1)
    assert (refused.exit_code, "expected TOPIC:N" in refused.stderr) == (2, True)


async def test_describe_on_a_broker_without_transactions_says_so(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "data") as broker:
        missing = await asyncio.to_thread(run_command, "transactions", "describe", "missing", "-b", str(broker.address))
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert "missing: NOT_COORDINATOR" in missing.stderr
    assert "No transaction was ever begun on this broker" in missing.stderr
