"""`stepdown groups` against a broker with groups in it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.groups.offsets.offset_requests import Committer, NewOffset
from stepdown.broker.metadata.topics import NewTopic
from stepdown.protocol.coordinator.consumer_protocol import (
    ConsumerAssignment,
    ConsumerTopicPartitions,
    encode_assignment,
)
from stepdown.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.admin import write
from support.client import RawClient
from support.command import Finished, run_command
from support.running import running_broker

Groups = Callable[..., Awaitable[Finished]]
SETTINGS = {
    "offsets_topic_num_partitions": 2,
    "group_initial_rebalance_delay_ms": 0,
    "group_coordinator_rebalance_protocols": "classic,consumer",
}


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    """Topic t has two partitions of ten records; group `idle` has committed 3 and 5 of them."""
    async with running_broker(tmp_path / "data", **SETTINGS) as broker:
        settings = broker.topics.configuration.topic_settings({})
        await broker.topics.create([NewTopic(name="t", partitions=2, settings=settings)])
        client = await RawClient.connect(broker.address.host, broker.address.port)
        now_ms = broker.clock.now_ms()
        ten = build_batch([Record(offset=each, timestamp=now_ms, value=b"v") for each in range(10)])
        for partition in range(2):
            await write(client, "t", partition, data=ten)
        await client.close()
        offsets = [NewOffset(topic="t", partition=partition, offset=at) for partition, at in enumerate((3, 5))]
        await broker.groups.commit_offsets(Committer(group_id="idle"), offsets)
        yield broker


@pytest.fixture
async def groups(broker: Broker) -> Groups:
    """`stepdown groups …`; the command blocks, so it runs in a thread."""

    async def run(*arguments: str) -> Finished:
        return await asyncio.to_thread(run_command, "groups", *arguments, "-b", str(broker.address))

    return run


async def join(broker: Broker) -> str:
    """A member of group `busy` that owns t-1; its id."""
    client = await RawClient.connect(broker.address.host, broker.address.port, client_id="raw")
    protocol = JoinGroupRequestProtocol(name="range")
    request = JoinGroupRequest(
        group_id="busy",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=(protocol,),
    )
    joined = await client.send(request, 3)
    owned = ConsumerAssignment(assigned_partitions=(ConsumerTopicPartitions(topic="t", partitions=(1,)),))
    share = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=encode_assignment(owned, 1))
    await client.send(
        SyncGroupRequest(group_id="busy", generation_id=1, member_id=joined.member_id, assignments=(share,)), 3
    )
    await client.close()
    return joined.member_id


async def test_groups_are_listed(broker: Broker, groups: Groups) -> None:
    await join(broker)
    listed = json.loads((await groups("list", "--json")).stdout)
    assert listed == [
        {"id": "busy", "state": "Stable", "type": "classic", "protocol_type": "consumer"},
        {"id": "idle", "state": "Empty", "type": "classic", "protocol_type": ""},
    ]
    table = (await groups("list", "--state", "empty")).stdout.splitlines()
    assert [line.split() for line in table[2:]] == [["idle", "Empty", "classic"]]


async def test_a_group_is_described_with_members_and_lag(broker: Broker, groups: Groups) -> None:
    member_id = await join(broker)
    busy, idle = json.loads((await groups("describe", "busy", "idle", "--json")).stdout)
    assert busy["members"] == [
        {
            "member_id": member_id,
            "instance_id": None,
            "client_id": "raw",
            "client_host": "/127.0.0.1",
            "assigned_count": 1,
            "assigned": ["t-1"],
        }
    ]
    assert busy["offsets"] == [
        {"topic": "t", "partition": 1, "offset": None, "end_offset": 10, "lag": None, "member_id": member_id}
    ]
    assert [(each["partition"], each["offset"], each["end_offset"], each["lag"]) for each in idle["offsets"]] == [
        (0, 3, 10, 7),
        (1, 5, 10, 5),
    ]
    shown = (await groups("describe", "busy")).stdout
    assert shown.startswith("busy  Stable, classic range\n")


async def test_a_group_of_the_consumer_protocol_is_described(broker: Broker, groups: Groups) -> None:
    client = await RawClient.connect(broker.address.host, broker.address.port, client_id="raw")
    heartbeat = ConsumerGroupHeartbeatRequest(
        group_id="new", member_id="m", rebalance_timeout_ms=1, subscribed_topic_names=("t",), topic_partitions=()
    )
    await client.send(heartbeat, 1)
    await client.close()
    (new,) = json.loads((await groups("describe", "new", "--json")).stdout)
    assert (new["state"], new["type"], new["protocol"]) == ("Stable", "consumer", "uniform")
    assert [each["member_id"] for each in new["offsets"]] == ["m", "m"]


async def test_an_unknown_group_is_an_error(groups: Groups) -> None:
    """It was shown as a group whose state is Dead, and refused with a bare code."""
    missing = await groups("describe", "nowhere")
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert "nowhere: there is no such group (GROUP_ID_NOT_FOUND)" in missing.stderr


@pytest.mark.parametrize(
    ("options", "moved"),
    [
        (["--to-earliest"], [0, 0]),
        (["--to-latest"], [10, 10]),
        (["--to-offset", "7"], [7, 7]),
        (["--to-offset", "70"], [10, 10]),
        (["--by", "-4"], [0, 1]),
        (["--by", "2"], [5, 7]),
        (["--to-time", "1999-01-01"], [0, 0]),
        (["--to-time", "2999-01-01T00:00+01:00"], [10, 10]),
    ],
    ids=lambda value: "".join(value) if value and isinstance(value[0], str) else "",
)
async def test_offsets_are_moved(groups: Groups, broker: Broker, options: list[str], moved: list[int]) -> None:
    plan = json.loads((await groups("reset-offsets", "idle", *options, "--json")).stdout)
    assert ([each["to"] for each in plan["offsets"]], plan["executed"]) == (moved, False)
    assert broker.groups.fetch_offset("idle", "t", 0).offset == 3
    done = await groups("reset-offsets", "idle", *options, "--execute")
    assert done.stdout.startswith("idle: moved\n")
    assert [broker.groups.fetch_offset("idle", "t", partition).offset for partition in range(2)] == moved


async def test_only_the_partitions_named_are_moved(groups: Groups, broker: Broker) -> None:
    await groups("reset-offsets", "idle", "-t", "t:1", "--to-latest", "--execute")
    assert [broker.groups.fetch_offset("idle", "t", partition).offset for partition in range(2)] == [3, 10]
    await groups("reset-offsets", "fresh", "-t", "t", "--to-latest", "--execute")
    assert [broker.groups.fetch_offset("fresh", "t", partition).offset for partition in range(2)] == [10, 10]


@pytest.mark.parametrize("options", [(), ("--execute",), ("--execute", "--json")], ids=" ".join)
async def test_offsets_of_a_group_with_members_stay(groups: Groups, broker: Broker, options: tuple[str, ...]) -> None:
    """The table said "moved" and the JSON "executed" before the error, and that they would be without `--execute`."""
    await join(broker)
    refused = await groups("reset-offsets", "busy", "-t", "t", "--to-latest", *options)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "stop them first" in refused.stderr


@pytest.mark.parametrize("options", [[], ["--to-latest", "--by", "1"], ["--to-time", "soon"]], ids=str)
async def test_where_to_has_to_be_said_once_and_clearly(groups: Groups, options: list[str]) -> None:
    assert (await groups("reset-offsets", "idle", *options)).exit_code == 2


async def test_groups_without_members_are_deleted(groups: Groups, broker: Broker) -> None:
    await join(broker)
    done = await groups("delete", "idle", "busy")
    assert (done.exit_code, done.stdout) == (1, "idle: deleted\n")
    assert "busy: the group has members (NON_EMPTY_GROUP)" in done.stderr
