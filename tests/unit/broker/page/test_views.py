"""The JSON of the page says what the broker has, in answers of bounded size."""

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.page import record_reading
from stepdown.broker.page.problems import LATELY_MS, find_problems
from stepdown.broker.page.record_reading import MOST_FIELD_BYTES
from stepdown.network.loop_watch import LoopHold
from stepdown.protocol.coordinator.consumer_protocol import (
    ConsumerAssignment,
    ConsumerTopicPartitions,
    encode_assignment,
)
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.messages.produce import ProduceRequest
from stepdown.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.layout import Codec, ControlType
from support.admin import write
from support.client import RawClient
from support.fetching import fetch, fetched, produce, records
from support.http_page import get, get_json
from support.page_content import MARKUP, VALUES, commit, record, write_values
from support.record_sets import NOW, record_set
from support.running import running_broker


def problems(overview: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that do not come of a busy machine."""
    return [each for each in overview["problems"] if "event loop" not in each["what"]]


async def test_the_overview_says_who_it_is_and_what_it_did(broker: Broker, client: RawClient) -> None:
    await write_values(client)
    found = await get_json(broker.http_address, "overview")
    assert (found["cluster_id"], found["is_ready"]) == (broker.cluster.cluster_id, True)
    assert problems(found) == []
    assert found["brokers"][0]["listeners"] == {"PLAINTEXT": str(broker.address)}
    assert (found["counts"]["topics"], found["counts"]["partitions"], found["counts"]["connections"]) == (1, 3, 1)
    assert found["traffic"]["records_in"] == len(VALUES)
    (produce,) = [row for row in found["requests"] if row["api"] == "Produce"]
    assert produce["count"] == sum(produce["durations"]) == 1
    assert len(produce["durations"]) == len(found["bounds_s"]) + 1


async def test_what_is_wrong_comes_with_what_helps(broker: Broker, client: RawClient) -> None:
    broker.cluster.topics["orders"].partitions[1].leader_id = -1
    broker.cluster.topics["orders"].partitions[2].replicas = (1, 2)
    found = problems(await get_json(broker.http_address, "overview"))
    assert [(each["count"], each["names"]) for each in found] == [(1, ["orders-1"]), (1, ["orders-2"])]
    assert all("stepdown topics describe" in each["help"] for each in found)


async def test_a_held_loop_is_told_with_its_time_for_ten_minutes(broker: Broker, client: RawClient) -> None:
    """The sentence was the help of a metric, had no time, and stood there until the broker ended."""
    now_ms = broker.clock.now_ms()
    broker.loop_holds["FETCH"] = LoopHold(290, now_ms)
    broker.loop_holds["PRODUCE"] = LoopHold(120, now_ms - LATELY_MS)
    (held,) = [
        each for each in (await get_json(broker.http_address, "overview"))["problems"] if "290 ms" in each["what"]
    ]
    at = datetime.fromtimestamp(now_ms / 1000, UTC)
    assert held["what"] == f"a request (Fetch) held the event loop for 290 ms, at {at:%H:%M:%S} UTC"
    assert (held["names"], "look at the disk" in held["help"]) == ([], True)
    assert not [each for each in await find_problems(broker, broker.turns.begin()) if "(Produce)" in each["what"]]


async def test_old_requests_of_others_are_worth_knowing_and_those_of_our_commands_are_not(broker: Broker) -> None:
    """The page blamed `stepdown produce --as v1`, and was red for clients that the broker is there to serve."""
    for client_id, software in (("app", "lib"), ("stepdown-cli", "stepdown"), ("me", "stepdown-cli")):
        async with await RawClient.connect(broker.address.host, broker.address.port, client_id=client_id) as client:
            await client.send(ApiVersionsRequest(client_software_name=software, client_software_version="1"), 3)
            await client.send(MetadataRequest(topics=()), 0)
            await client.send(ProduceRequest(transactional_id=None, acks=1, timeout_ms=1_000, topic_data=()), 0)
    (old,) = problems(await get_json(broker.http_address, "overview"))
    assert (old["names"], "deprecated" in old["what"]) == (["app (lib 1), 2 requests"], True)
    assert not old["needs_action"]


async def test_a_client_that_stands_still_at_zstd_is_what_is_wrong(broker: Broker, client: RawClient) -> None:
    """It asked for the same offset again and again, and nothing was wrong."""
    await produce(client, "orders", build_batch(records(3), codec=Codec.ZSTD))
    async with await RawClient.connect(broker.address.host, broker.address.port, client_id="till") as reader:
        for _ in range(2):
            await fetched(reader, fetch("orders"), 2)
    found = problems(await get_json(broker.http_address, "overview"))
    (stalled,) = [each for each in found if "again and again" in each["what"]]
    (name,) = stalled["names"]
    assert name.startswith("till (unknown, as of Kafka 0.10.0 (guess)): orders-0 at offset 0, for ")
    assert "stepdown configs alter broker -c stepdown.downconversion.zstd=gzip -b HOST:PORT" in stalled["help"]


async def test_topics_and_their_partitions(broker: Broker, client: RawClient) -> None:
    await write_values(client)
    (topic,) = (await get_json(broker.http_address, "topics"))["rows"]
    assert (topic["name"], topic["partitions"], topic["offsets"]) == ("orders", 3, len(VALUES))
    page = await get_json(broker.http_address, "partitions", topic="orders", limit=1)
    assert (page["rows"][0]["end_offset"], page["total"], page["next"]) == (len(VALUES), 3, 0)
    rest = await get_json(broker.http_address, "partitions", topic="orders", after=0)
    assert [row["partition"] for row in rest["rows"]] == [1, 2]
    assert (await get(broker.http_address, "/api/partitions?topic=none")).status == 404


async def test_records_are_shown_as_what_they_are_and_cut(broker: Broker, client: RawClient) -> None:
    await write_values(client)
    found = await get_json(broker.http_address, "records", topic="orders", partition=0)
    markup, binary, long = (row["value"] for row in found["rows"])
    assert (markup["text"], markup["is_whole"]) == (MARKUP, True)
    assert base64.b64decode(binary["base64"]) == VALUES[1]
    assert (long["text"], long["size"], long["is_whole"]) == ("é" * (MOST_FIELD_BYTES // 2), len(VALUES[2]), False)
    assert found["rows"][0]["headers"] == [{"key": "<h>", "value": {"size": 1, "is_whole": True, "base64": "/g=="}}]
    assert (found["next"], found["end_offset"]) == (None, len(VALUES))


async def test_records_begin_at_an_offset_or_a_time(broker: Broker, client: RawClient) -> None:
    for _ in range(3):
        await write(client, "orders", data=record_set(2, content=[record(0, b"a"), record(1, None)]))
    page = await get_json(broker.http_address, "records", topic="orders", partition=0, offset=1, limit=2)
    assert ([row["offset"] for row in page["rows"]], page["next"]) == ([1, 2], 3)
    assert page["rows"][0]["value"] is None
    later = await get_json(broker.http_address, "records", topic="orders", partition=0, time=NOW + 1)
    assert later["rows"][0]["offset"] == 1
    last = await get_json(broker.http_address, "records", topic="orders", partition=0, limit=2)
    assert [row["offset"] for row in last["rows"]] == [4, 5]
    earlier = await get_json(broker.http_address, "records", topic="orders", partition=0, before=3, limit=2)
    assert ([row["offset"] for row in earlier["rows"]], earlier["next"]) == ([1, 2], 3)
    nothing = await get_json(broker.http_address, "records", topic="orders", partition=0, before=0)
    assert (nothing["rows"], nothing["first"], nothing["next"]) == ([], 0, 0)
    assert (await get(broker.http_address, "/api/records?topic=orders&before=3&time=1")).status == 400
    assert (await get(broker.http_address, "/api/records?topic=orders&offset=99")).status == 404
    assert (await get(broker.http_address, "/api/records?topic=orders&offset=1&time=1")).status == 400


async def test_the_last_records_are_found_before_offsets_without_one(broker: Broker, client: RawClient) -> None:
    """Of a partition that ended with markers of transactions, none were shown."""
    for value in (b"a", b"b", b"c"):
        await write(client, "orders", data=record_set(2, content=[record(0, value)]))
    epochs = {"producer_epoch": 0, "coordinator_epoch": 0, "partition_leader_epoch": 0}
    log = broker.cluster.partition("orders", 0).log
    for offset in range(3, 12):
        log.append_as_follower(
            build_control_marker(ControlType.ABORT, offset=offset, producer_id=7, timestamp=NOW, **epochs)
        )
    last = await get_json(broker.http_address, "records", topic="orders", partition=0, limit=4)
    assert ([row["offset"] for row in last["rows"]], last["first"], last["next"]) == ([0, 1, 2], 0, None)
    earlier = await get_json(broker.http_address, "records", topic="orders", partition=0, before=11, limit=3)
    assert ([row["offset"] for row in earlier["rows"]], earlier["next"]) == ([0, 1, 2], 3)


async def test_a_batch_that_opens_to_much_is_named(
    broker: Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three kilobytes of zstd took 115 MB that nobody counted, for whoever looked at the topic."""
    monkeypatch.setattr(record_reading, "MOST_OPENED_BYTES", 1_000_000)
    for data, codec in ((b"v", Codec.NONE), (bytes(2_000_000), Codec.ZSTD), (b"v", Codec.NONE)):
        await write(client, "orders", data=record_set(2, codec, [record(0, data)]))
    before = await get_json(broker.http_address, "records", topic="orders", partition=0, offset=0)
    assert ([row["offset"] for row in before["rows"]], before["next"]) == ([0], 1)
    answer = await get(broker.http_address, "/api/records?topic=orders&partition=0&offset=1")
    assert (answer.status, b"the batch at offset 1 opens to more than" in answer.body) == (503, True)
    after = await get_json(broker.http_address, "records", topic="orders", partition=0, offset=2)
    assert [row["offset"] for row in after["rows"]] == [2]


async def test_records_of_one_answer_have_a_bound_in_bytes(broker: Broker, client: RawClient) -> None:
    large = [record(offset, bytes(MOST_FIELD_BYTES)) for offset in range(40)]
    await write(client, "orders", data=record_set(2, content=large))
    found = await get_json(broker.http_address, "records", topic="orders", partition=0, offset=0, limit=200)
    assert 10 < len(found["rows"]) < 20
    assert found["next"] == len(found["rows"])


async def test_groups_with_members_and_lag(broker: Broker, client: RawClient) -> None:
    await write_values(client)
    await commit(client, "<b>", 1)
    offered = (JoinGroupRequestProtocol(name="range", metadata=b"\x00\x00" + bytes(8)),)
    joining = JoinGroupRequest(
        group_id="g", session_timeout_ms=10_000, member_id="", protocol_type="consumer", protocols=offered
    )
    joined = await client.send(joining, 0)
    found = await get_json(broker.http_address, "groups")
    assert [(row["id"], row["members"], row["lag"]) for row in found["rows"]] == [
        ("<b>", 0, len(VALUES) - 1), ("g", 1, None),
    ]  # fmt: skip
    group = await get_json(broker.http_address, "group", id="g")
    assert [(row["member_id"], row["client_id"]) for row in group["rows"]] == [(joined.member_id, MARKUP)]
    assert group["rows"][0]["client_host"] == "127.0.0.1", "Kafka's DescribeGroups has a slash before it"
    (offset,) = (await get_json(broker.http_address, "offsets", id="<b>"))["rows"]
    assert (offset["topic"], offset["offset"], offset["lag"], offset["metadata"]) == ("orders", 1, 2, MARKUP)
    after = await get_json(broker.http_address, "offsets", id="<b>", after="orders-0")
    assert (after["rows"], after["total"]) == ([], 1)
    assert (await get(broker.http_address, "/api/group?id=none")).status == 404
    assert (await get(broker.http_address, "/api/offsets?id=g&after=x")).status == 400


async def test_a_group_without_commits_shows_what_it_is_assigned(broker: Broker, client: RawClient) -> None:
    """The list said that it lags by 0 and has no partitions, and its own view that there is nothing."""
    offered = (JoinGroupRequestProtocol(name="range", metadata=b"\x00\x00" + bytes(8)),)
    joining = JoinGroupRequest(
        group_id="g", session_timeout_ms=10_000, member_id="", protocol_type="consumer", protocols=offered
    )
    member = (await client.send(joining, 0)).member_id
    places = ConsumerAssignment(assigned_partitions=[ConsumerTopicPartitions(topic="orders", partitions=[0, 2])])
    mine = SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(places, 0))
    await client.send(SyncGroupRequest(group_id="g", generation_id=1, member_id=member, assignments=(mine,)), 0)
    (row,) = (await get_json(broker.http_address, "groups"))["rows"]
    assert (row["members"], row["partitions"], row["lag"]) == (1, 2, None)
    offsets = (await get_json(broker.http_address, "offsets", id="g"))["rows"]
    assert [(each["partition"], each["offset"], each["lag"]) for each in offsets] == [(0, None, None), (2, None, None)]


async def test_the_overview_counts_the_topics_that_the_list_shows(broker: Broker, client: RawClient) -> None:
    """It counted the broker's own topics, too."""
    await commit(client, "g", 1)
    counts = (await get_json(broker.http_address, "overview"))["counts"]
    assert counts["topics"] == (await get_json(broker.http_address, "topics"))["total"] == 1
    assert "__consumer_offsets" in broker.cluster.topics


async def test_a_path_without_a_page_names_the_page(broker: Broker) -> None:
    """It named /metrics and others, and not the page at /."""
    assert "there is /, /" in (await get(broker.http_address, "/nothing")).body.decode()


async def test_clients_are_those_of_the_report(broker: Broker, client: RawClient) -> None:
    found = await get_json(broker.http_address, "clients")
    rows, whole = found["rows"], broker.clients.document()["clients"]
    assert [row | {"latest_ms": 0} for row in rows] == [row | {"latest_ms": 0} for row in whole]
    assert (found["rows"][0]["client_id"], found["total"], found["next"]) == (MARKUP, 1, None)


async def test_without_the_setting_there_is_no_page(tmp_path: Path) -> None:
    async with running_broker(tmp_path, stepdown_page_enabled="false") as broker:
        assert (await get(broker.http_address, "/")).status == 404
        assert (await get(broker.http_address, "/api/overview")).status == 404
        assert (await get(broker.http_address, "/healthz")).status == 200


async def test_a_password_is_asked_for_and_metrics_stay_open(tmp_path: Path) -> None:
    async with running_broker(tmp_path, stepdown_page_password="secret") as broker:
        right = {"Authorization": "Basic " + base64.b64encode(b"me:secret").decode(), "Host": "kafka.example"}
        assert (await get(broker.http_address, "/")).headers["www-authenticate"].startswith("Basic")
        assert (await get(broker.http_address, "/api/overview")).status == 401
        assert (await get(broker.http_address, "/api/overview", right)).status == 200
        assert (await get(broker.http_address, "/metrics")).status == 200


async def test_a_wrong_password_is_counted_and_has_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = {"stepdown_page_password": "secret", "connection_failed_authentication_delay_ms": 0}
    async with running_broker(tmp_path, **settings) as broker:
        wrong = {"Authorization": "Basic " + base64.b64encode(b"me:guess").decode()}
        assert (await get(broker.http_address, "/api/overview", wrong)).status == 401
        assert broker.metrics.failed_authentications.of("HTTP", "BASIC").value == 1
    assert "wrong password for the page" in caplog.text
    assert "guess" not in caplog.text


async def test_nothing_can_be_changed_through_it(broker: Broker) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert (await get(broker.http_address, "/api/topics", method=method)).status == 405


async def test_the_row_of_a_client_says_whether_it_is_stepdown_itself(broker: Broker, client: RawClient) -> None:
    """The page said of stepdown's own commands that they do not work with Kafka 4, and /clients still did."""
    async with await RawClient.connect(broker.address.host, broker.address.port, client_id="stepdown-cli") as own:
        await own.send(ProduceRequest(transactional_id=None, acks=1, timeout_ms=1_000, topic_data=()), 0)
    rows = (await get_json(broker.http_address, "clients"))["rows"]
    assert {row["client_id"]: row["is_own"] for row in rows} == {MARKUP: False, "stepdown-cli": True}
    assert "own command" in [row["works"] for row in rows]


async def test_a_client_with_two_guesses_is_named_once(broker: Broker, client: RawClient) -> None:
    """The overview named one client by two releases, since its later requests let one guess another."""
    await client.send(MetadataRequest(topics=()), 0)
    await client.send(ProduceRequest(transactional_id=None, acks=1, timeout_ms=1_000, topic_data=()), 2)
    (old,) = problems(await get_json(broker.http_address, "overview"))
    (seen,) = broker.clients
    assert (old["count"], old["names"]) == (2, [f"{MARKUP} ({seen.software}), 2 requests"])


async def test_clients_are_found_by_id_and_address(broker: Broker, client: RawClient) -> None:
    """Their list had no filter."""
    for part, total in (("img", 1), ("127.0", 1), ("nobody", 0)):
        found = await get_json(broker.http_address, "clients", contains=part)
        assert (found["total"], len(found["rows"])) == (total, total)


async def test_a_topic_has_the_settings_that_are_set(broker: Broker, client: RawClient) -> None:
    """The page did not show them."""
    broker.cluster.topics["orders"].overrides["retention.ms"] = "5000"
    found = await get_json(broker.http_address, "partitions", topic="orders")
    assert {"name": "retention.ms", "value": "5000", "source": "TOPIC"} in found["settings"]
