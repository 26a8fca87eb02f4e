"""`stepdown reassign` against a cluster of three brokers, in which replicas do not catch up until the clock moves."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker_cluster import BrokerCluster
from stepdown.cli.reassign.plan import format_plan, parse_plan
from support.brokers import create_topic, running_cluster
from support.cli_steps import Stepdown, commands_for
from support.deadline import DEADLINE_S

PLAN = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [3], "log_dirs": ["any"]}]}


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[BrokerCluster]:
    async with running_cluster(tmp_path / "data") as running:
        await create_topic(running, "t", replicas=(1,))
        yield running


@pytest.fixture
def run(cluster: BrokerCluster) -> Stepdown:
    return commands_for(cluster.brokers[1])


async def rows(run: Stepdown, *arguments: object, status: int = 0, plan: Any = PLAN) -> Any:
    told = await run("reassign", *arguments, "--json", stdin=json.dumps(plan).encode())
    assert told.exit_code == status, told.stderr
    return json.loads(told.stdout)


async def test_a_partition_is_moved_and_the_way_back_is_printed(run: Stepdown) -> None:
    (before,) = await rows(run, "verify", "-", status=1)
    assert (before["replicas"], before["wanted"], before["state"]) == ([1], [3], "different")
    told = await run("reassign", "execute", "-", stdin=json.dumps(PLAN).encode())
    assert told.exit_code == 0, told.stderr
    first, second = told.stdout.splitlines()
    assert (json.loads(first.removeprefix("before: "))["partitions"], second) == (
        [{"topic": "t", "partition": 0, "replicas": [1]}],
        "t-0: on its way",
    )
    async with asyncio.timeout(DEADLINE_S):
        while (await run("reassign", "verify", "-", stdin=json.dumps(PLAN).encode())).exit_code:
            pass
    (after,) = await rows(run, "verify", "-")
    assert (after["replicas"], after["state"]) == ([3], "complete")
    assert await rows(run, "list") == []


async def test_what_is_under_way_is_listed_and_cancelled(cluster: BrokerCluster, run: Stepdown) -> None:
    cluster.pause_follower(3)
    assert await rows(run, "execute", "-") == [{"partition": "t-0", "error": "", "message": ""}]
    (listed,) = await rows(run, "list")
    assert (listed["topic"], listed["partition"], listed["adding"], listed["removing"]) == ("t", 0, [3], [1])
    (verified,) = await rows(run, "verify", "-", status=1)
    assert verified["state"] == "under way"
    assert "t-0: stays\n" in (await run("reassign", "cancel")).stdout
    assert await rows(run, "list") == []
    assert (await run("reassign", "cancel")).stdout == "nothing is under way\n"


async def test_what_is_wrong_is_said(run: Stepdown, tmp_path: Path) -> None:
    other = {"partitions": [{"topic": "t", "partition": 0, "replicas": [9]}]}
    missing = {"partitions": [{"topic": "t", "partition": 7, "replicas": [1]}]}
    told = await run("reassign", "execute", "-", stdin=json.dumps(other).encode())
    assert (told.exit_code, "INVALID_REPLICA_ASSIGNMENT" in told.stderr) == (1, True), told.stderr
    told = await run("reassign", "execute", "-", stdin=json.dumps(missing).encode())
    assert (told.exit_code, "topic t has no partition 7" in told.stderr) == (1, True), told.stderr
    told = await run("reassign", "execute", tmp_path / "none.json")
    assert (told.exit_code, "none.json: No such file" in told.stderr) == (1, True), told.stderr
    told = await run("reassign", "execute", "-", stdin=b"[]")
    assert (told.exit_code, "there is no list of partitions" in told.stderr) == (2, True), told.stderr


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"replicas": []}, "replicas are ids of brokers"),
        ({"replicas": [1, 1]}, "a broker is there twice"),
        ({"replicas": [True]}, "replicas are ids of brokers"),
        ({"replicas": [2**31]}, "replicas are ids of brokers"),
        ({"partition": "0"}, "not a partition"),
        ({"topic": None}, "not a partition"),
        ({"log_dirs": ["/disk2"]}, "log_dirs are not supported"),
    ],
    ids=str,
)
def test_a_plan_that_cannot_be_is_refused(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parse_plan({"partitions": [PLAN["partitions"][0] | changed]})  # type: ignore[index]


def test_a_plan_of_another_version_or_with_a_partition_twice_is_refused() -> None:
    for document, told in (
        ({"version": 2, "partitions": PLAN["partitions"]}, "version 2"),
        ({"partitions": 2 * PLAN["partitions"]}, "t-0 is there twice"),  # type: ignore[operator]
        ({"partitions": []}, "no partitions"),
        ([], "no list"),
    ):
        with pytest.raises(ValueError, match=told):
            parse_plan(document)
    assert parse_plan(json.loads(format_plan({("t", 0): (1, 2)}))) == {("t", 0): [1, 2]}
