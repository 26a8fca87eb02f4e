"""`stepdown cluster`, `log-dirs`, `offsets` and `delete-records` against a broker of their own."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from support.cli_steps import Stepdown, commands_for
from support.running import running_broker


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path / "data") as broker:
        yield broker


@pytest.fixture
async def run(broker: Broker) -> Stepdown:
    """Commands for a broker with a topic t of 2 partitions, three records in the first."""
    run = commands_for(broker)
    await run("topics", "create", "t", "-p", 2)
    await run("produce", "t", "-p", 0, stdin=b"a\nb\nc\n")
    return run


async def rows(run: Stepdown, *arguments: object) -> Any:
    told = await run(*arguments, "--json")
    assert told.exit_code == 0, told.stderr
    return json.loads(told.stdout)


async def test_the_cluster_is_shown(run: Stepdown, broker: Broker) -> None:
    found = await rows(run, "cluster")
    node, address = broker.cluster.node_id, broker.address
    assert (found["cluster_id"], found["controller_id"]) == (broker.cluster.cluster_id, node)
    assert found["brokers"] == [{"id": node, "host": address.host, "port": address.port, "rack": None}]
    assert str(broker.cluster.cluster_id) in (await run("cluster")).stdout


async def test_the_log_directories_are_shown(run: Stepdown, broker: Broker) -> None:
    (found,) = await rows(run, "log-dirs", "t")
    assert (found["directory"], found["error"]) == (broker.settings.log_dirs[0], "")
    assert [(each["topic"], each["partition"], each["size_bytes"] > 0) for each in found["partitions"]] == [
        ("t", 0, True),
        ("t", 1, False),
    ]
    assert "2 partitions" in (await run("log-dirs", "t")).stdout


async def test_partitions_of_a_directory_are_sorted(run: Stepdown) -> None:
    """They came as the broker's answer has them."""
    await run("topics", "create", "a", "-p", 11)
    (found,) = await rows(run, "log-dirs")
    names = [(each["topic"], each["partition"]) for each in found["partitions"]]
    assert (len(names), names) == (13, sorted(names))


async def test_offsets_are_shown_and_records_deleted(run: Stepdown) -> None:
    assert await rows(run, "delete-records", "t", "-p", 0, "--before", 2) == [
        {"topic": "t", "partition": 0, "start_offset": 2, "error": ""}
    ]
    assert await rows(run, "offsets", "t") == [
        {"topic": "t", "partition": 0, "start_offset": 2, "end_offset": 3},
        {"topic": "t", "partition": 1, "start_offset": 0, "end_offset": 0},
    ]
    told = await run("delete-records", "t", "--before", "end")
    assert told.stdout == (
        "t-0: offsets 2 to 2 are deleted, it begins at 3\nt-1: nothing was there to delete, it begins at 0\n"
    )
    assert "earliest" in (await run("offsets", "t")).stdout


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("offsets", "nope"), 1, "topic nope: there is no such topic or partition (UNKNOWN_TOPIC_OR_PARTITION)"),
        (("delete-records", "t", "--before", "x"), 2, "expected an offset or end"),
        (("delete-records", "t", "--before", "-1"), 2, "found '-1'\n  What Kafka's own tool calls -1 is --before end"),
        (("delete-records", "t:0:2"), 2, "For example: stepdown delete-records orders --partition 0 --before 2"),
        (("cluster", "describe"), 2, "unexpected extra argument(s) (describe). It takes none."),
        (
            ("delete-records", "t", "--before", "9", "-p", "0"),
            1,
            "t-0: its offsets go from 0 to 3 (OFFSET_OUT_OF_RANGE)\n  `--before end` deletes all ",
        ),
        (("delete-records", "t", "--before", "0", "-p", "7"), 1, "has no partition 7"),
    ],
)
async def test_what_is_wrong_is_said(run: Stepdown, arguments: tuple[str, ...], status: int, told: str) -> None:
    """A bare code was all that was said of a topic that is not there, and of an offset out of range."""
    ended = await run(*arguments)
    assert (ended.exit_code, told in ended.stderr) == (status, True), ended.stderr


async def test_offsets_without_topics_are_those_of_all(run: Stepdown) -> None:
    """It asked for topics, where kafka-get-offsets takes all."""
    assert {(row["topic"], row["partition"]) for row in await rows(run, "offsets")} == {("t", 0), ("t", 1)}


async def test_a_topic_that_is_not_there_has_no_directories(run: Stepdown) -> None:
    """It was "0 partitions, 0 bytes", and fine."""
    ended = await run("log-dirs", "nope")
    assert (ended.exit_code, "nope" in ended.stderr) == (1, True), ended.stderr


async def test_directories_are_shown_without_internal_topics_unless_that_is_said(run: Stepdown) -> None:
    """Fifty lines of `__consumer_offsets` stood before the topics of the user."""
    await run("topics", "create", "__consumer_offsets")
    for asked, shown in (
        ((), {"t"}),
        (("--internal",), {"__consumer_offsets", "t"}),
        (("__consumer_offsets",), {"__consumer_offsets"}),
    ):
        (found,) = await rows(run, "log-dirs", *asked)
        assert {each["topic"] for each in found["partitions"]} == shown
    assert "bytes, without internal topics\n" in (await run("log-dirs")).stdout
    assert "without" not in (await run("log-dirs", "--internal")).stdout
