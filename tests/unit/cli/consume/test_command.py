"""`stepdown consume` against a broker of its own: where it begins, where it ends, and as a member of a group."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from support.cli_steps import Stepdown, commands_for
from support.command import run_command
from support.deadline import DEADLINE_S
from support.fetching import connect
from support.running import running_broker
from support.transactions import SETTINGS, TransactionalClient


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    # The records are of 1970, and on a busy machine retention comes while they are read.
    settings = {"group_initial_rebalance_delay_ms": 0, "log_retention_ms": -1, **SETTINGS}
    async with running_broker(tmp_path / "data", **settings) as broker:
        yield broker


@pytest.fixture
async def run(broker: Broker) -> Stepdown:
    """Commands for a broker with a topic t of 2 partitions, with 0 to 4 in the first and 5 to 9 in the second."""
    run = commands_for(broker)
    await run("topics", "create", "t", "-p", 2)
    for partition, numbers in ((0, range(5)), (1, range(5, 10))):
        text = "".join(f"{number}\n" for number in numbers).encode()
        await run("produce", "t", "-p", partition, "--timestamp", 1000 + partition, stdin=text)
    return run


def process(broker: Broker, *arguments: str, **more: Any) -> Any:
    """`stepdown consume …` as a process."""
    command = (sys.executable, "-m", "stepdown", "consume", *arguments, "-b", str(broker.address))
    return asyncio.create_subprocess_exec(*command, stderr=subprocess.PIPE, **more)


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (["-e"], range(10)),
        (["-e", "-o", "latest"], ()),
        (["-e", "-o", "3"], (3, 4, 8, 9)),
        (["-e", "-o", "-1"], (4, 9)),
        (["-e", "-o", "-99"], range(10)),
        (["-e", "-o", "@1001"], range(5, 10)),
        (["-e", "-p", "1"], range(5, 10)),
        (["-e", "-o", "5"], ()),
        (["-n", "3", "--from-beginning", "-p", "0"], range(3)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
async def test_it_begins_and_ends_where_it_is_asked_to(run: Stepdown, options: list[str], numbers: Any) -> None:
    ended = await run("consume", "t", *options)
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert sorted(map(int, ended.stdout.split())) == list(numbers)


@pytest.mark.parametrize("form", ["v0", "v1", "v2"])
async def test_a_message_above_the_usual_room_is_read_in_every_format(run: Stepdown, form: str) -> None:
    await run("topics", "create", "big", "-p", 1, "-c", "max.message.bytes=4000000")
    text = b"a\n" + b"x" * 3_000_000 + b"\nb\n"
    assert (await run("produce", "big", "-X", "max.request.size=4000000", stdin=text)).exit_code == 0
    assert (await run("consume", "big", "-e", "--as", form)).stdout_bytes == text


@pytest.mark.parametrize("form", ["v0", "v1", "v2"])
async def test_it_ends_at_a_marker_that_an_old_format_cannot_show(broker: Broker, run: Stepdown, form: str) -> None:
    producer = TransactionalClient(await connect(broker))
    await producer.init()
    for value, is_commit in ((b"committed", True), (b"aborted", False)):
        await producer.add("t", 0)
        await producer.produce("t", 0, value)
        await producer.end(commit=is_commit)
    await producer.client.close()
    every = await run("consume", "t", "-p", 0, "-o", 5, "-e", "--as", form)
    assert every.stdout.split() == ["committed", "aborted"]
    if form == "v2":
        committed = await run("consume", "t", "-p", 0, "-o", 5, "-e", "--isolation", "read_committed")
        assert committed.stdout.split() == ["committed"]


async def test_a_group_goes_on_in_the_middle_of_a_batch(run: Stepdown) -> None:
    await run("produce", "many", "-p", 0, stdin=b"".join(b"%d\n" % number for number in range(20)))
    first = await run("consume", "many", "-g", "g", "-n", 7, "--from-beginning")
    second = await run("consume", "many", "-g", "g", "-e", "--from-beginning")
    assert list(map(int, (first.stdout + second.stdout).split())) == list(range(20))


async def test_a_group_goes_on_where_it_was(run: Stepdown) -> None:
    first = await run("consume", "t", "-g", "g", "-n", 3, "--from-beginning")
    second = await run("consume", "t", "-g", "g", "-e", "--from-beginning")
    assert (first.exit_code, second.exit_code) == (0, 0), second.stderr
    assert sorted(map(int, (first.stdout + second.stdout).split())) == list(range(10))
    (group,) = json.loads((await run("groups", "describe", "g", "--json")).stdout)
    assert (group["state"], [each["lag"] for each in group["offsets"]]) == ("Empty", [0, 0])


async def test_two_members_share_the_partitions_and_one_takes_over_when_the_other_leaves(
    broker: Broker, run: Stepdown
) -> None:
    members = [await process(broker, "t", "-g", "g", "-f", r"%p\n", stdout=subprocess.PIPE) for _ in range(2)]
    try:
        while await shares(run) != [1, 1]:
            pass
        await write_to_both(run)
        assert sorted([int(await member.stdout.readline()) for member in members]) == [0, 1]
        members[0].send_signal(signal.SIGTERM)
        assert await members[0].wait() == 143
        while await shares(run) != [2]:
            pass
        await write_to_both(run)
        assert sorted([int(await members[1].stdout.readline()) for _ in range(2)]) == [0, 1]
    finally:
        for member in members:
            if member.returncode is None:
                member.kill()
            await member.communicate()


async def shares(run: Stepdown) -> list[int]:
    """How many partitions each member of g has."""
    ended = await run("groups", "describe", "g", "--json")
    return [member["assigned_count"] for group in json.loads(ended.stdout or "[]") for member in group["members"]]


async def write_to_both(run: Stepdown) -> None:
    for partition in (0, 1):
        assert (await run("produce", "t", "-p", partition, stdin=b"v")).exit_code == 0


async def test_ctrl_c_ends_it_with_what_was_printed_committed(broker: Broker, run: Stepdown) -> None:
    reader = await process(broker, "t", "-g", "g", "--from-beginning", stdout=subprocess.PIPE)
    printed = [int(await reader.stdout.readline()) for _ in range(10)]
    reader.send_signal(signal.SIGINT)
    _, errors = await reader.communicate()
    assert (reader.returncode, errors, sorted(printed)) == (130, b"", list(range(10)))
    (group,) = json.loads((await run("groups", "describe", "g", "--json")).stdout)
    assert [each["lag"] for each in group["offsets"]] == [0, 0]
    assert not group["members"]


@pytest.mark.usefixtures("run")
async def test_a_reader_that_went_away_ends_it_without_a_word(broker: Broker) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    reader = await process(broker, "t", "-e", stdout=write_end)
    os.close(write_end)
    _, errors = await reader.communicate()
    assert (reader.returncode, errors) == (1, b"")


@pytest.mark.usefixtures("run")
async def test_a_reader_that_goes_away_ends_it_without_another_record(broker: Broker) -> None:
    """`consume … | head -1` went on until the next record."""
    read_end, write_end = os.pipe()
    reader = await process(broker, "t", "--from-beginning", stdout=write_end)
    os.close(write_end)
    assert await asyncio.to_thread(os.read, read_end, 2)
    os.close(read_end)
    _, errors = await asyncio.wait_for(reader.communicate(), DEADLINE_S)
    assert (reader.returncode, errors) == (1, b"")


async def test_records_deleted_meanwhile_are_passed_over_and_told(broker: Broker, run: Stepdown) -> None:
    await run("consume", "t", "-g", "g", "-n", 1, "--from-beginning")
    for partition in (0, 1):
        broker.log_manager.logs["t", partition].advance_log_start(3)
    ended = await run("consume", "t", "-g", "g", "-e")
    assert sorted(map(int, ended.stdout.split())) == [3, 4, 8, 9]
    assert "going on at 3" in ended.stderr


async def test_failures_tell_what_to_do_next(run: Stepdown) -> None:
    for arguments, code, told in (
        (("nothing",), 1, "stepdown topics list"),
        (("t", "-p", 2), 1, "no partition 2"),
        (("t", "-o", 6), 1, "t-0 has no offset 6: its offsets go from 0 to 5"),
        (("t", "-o", "soon"), 2, "--offset: expected earliest, latest, N, -N or @MS"),
        (("t", "-o", 1, "--from-beginning"), 2, "either --from-beginning or --offset"),
        (("t", "-g", "g", "-p", 0), 2, "stepdown groups reset-offsets"),
        (("t", "--isolation", "serializable"), 2, "read_committed"),
        (("t", "--isolation", "read_committed", "--as", "v1"), 2, "know no transactions"),
        (("t", "--json", "-f", "%v"), 2, "--json prints all there is"),
        (("t", "-f", "%q"), 2, "--format: expected one of"),
        (("t", "-K", r"\q"), 2, "--key-separator: expected"),
        (("t", "--as", "v9"), 2, "expected v0, v1 or v2"),
    ):
        ended = await run("consume", *arguments)
        assert (ended.exit_code, told in ended.stderr) == (code, True), (arguments, ended.stderr)


async def test_it_goes_on_when_its_broker_comes_back_and_a_signal_ends_the_wait(tmp_path: Path) -> None:
    """A restart ended it, with a word about TLS after good answers."""
    async with running_broker(tmp_path / "data") as broker:
        address = broker.address
        await commands_for(broker)("produce", "t", stdin=b"before")
        reader = await process(broker, "t", "--from-beginning", stdout=subprocess.PIPE)
        assert await reader.stdout.readline() == b"before\n"
    assert b"trying until a broker answers" in await reader.stderr.readline()
    async with running_broker(tmp_path / "data", listeners=f"PLAINTEXT://{address}") as broker:
        await commands_for(broker)("produce", "t", stdin=b"after")
        assert await reader.stdout.readline() == b"after\n"
    assert b"a broker answers again" in await reader.stderr.readline()
    assert b"trying until a broker answers" in await reader.stderr.readline()
    reader.send_signal(signal.SIGTERM)
    _, errors = await reader.communicate()
    assert (reader.returncode, errors) == (128 + signal.SIGTERM, b"")


@pytest.mark.parametrize("command", [("consume", "t"), ("produce", "t"), ("offsets", "t")], ids=" ".join)
async def test_an_advertised_address_that_nobody_reaches_is_named(tmp_path: Path, command: tuple[str, ...]) -> None:
    """The bootstrap server answered, and `start one with stepdown serve` was the advice."""
    async with running_broker(tmp_path / "data", advertised_listeners="PLAINTEXT://127.0.0.1:1") as broker:
        await asyncio.to_thread(run_command, "topics", "create", "t", "-b", broker.address)
        ended = await asyncio.to_thread(run_command, *command, "-b", broker.address, stdin=b"v")
    assert ended.exit_code == 1
    assert f"{broker.address} answered, and names 127.0.0.1:1 to its clients: set advertised.listeners" in ended.stderr
