import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from support.command import Finished, run_command
from support.running import running_broker

Topics = Callable[..., Awaitable[Finished]]


@pytest.fixture
async def topics(tmp_path: Path) -> AsyncIterator[Topics]:
    """`stepdown topics …` against a broker of its own; the command blocks, so it runs in a thread."""
    async with running_broker(tmp_path / "data") as broker:

        async def run(*arguments: str) -> Finished:
            return await asyncio.to_thread(run_command, "topics", *arguments, "-b", str(broker.address))

        yield run


async def test_a_topic_is_created_shown_altered_and_deleted(topics: Topics) -> None:
    created = await topics("create", "orders", "-p", "2", "-c", "retention.ms=5000")
    assert (created.exit_code, created.stdout) == (0, "orders: created, 2 partitions\n")
    altered = await topics("alter", "orders", "-p", "3", "-c", "cleanup.policy=compact", "-d", "retention.ms")
    assert (altered.exit_code, altered.stdout) == (0, "orders: altered\n")
    (described,) = json.loads((await topics("describe", "orders", "--json")).stdout)
    assert [partition["partition"] for partition in described["partitions"]] == [0, 1, 2]
    assert described["configs"] == {"cleanup.policy": "compact"}
    assert described["id"]
    deleted = await topics("delete", "orders")
    assert (deleted.exit_code, deleted.stdout) == (0, "orders: deleted\n")
    assert (await topics("list", "--json")).stdout == "[]\n"


async def test_topics_are_listed_and_described_in_tables(topics: Topics) -> None:
    await topics("create", "b", "a", "-p", "2")
    listed = (await topics("list")).stdout.splitlines()
    assert [line.split() for line in listed[2:]] == [["a", "2", "1"], ["b", "2", "1"]]
    described = (await topics("describe", "b")).stdout
    assert described.startswith("b  2 partitions, 1 replica, id ")
    assert described.splitlines()[1].split() == ["partition", "leader", "epoch", "replicas", "isr"]


async def test_a_topic_that_is_there_is_an_error_unless_that_is_fine(topics: Topics) -> None:
    await topics("create", "a")
    again = await topics("create", "a")
    assert again.exit_code == 1
    assert "TOPIC_ALREADY_EXISTS" in again.stderr
    assert "--if-not-exists" in again.stderr
    content = await topics("create", "a", "--if-not-exists")
    assert (content.exit_code, content.stdout) == (0, "a: is there already\n")


async def test_validate_only_creates_nothing(topics: Topics) -> None:
    assert (await topics("create", "a", "--validate-only")).stdout == "a: could be created, 1 partition\n"
    assert (await topics("list", "--json")).stdout == "[]\n"


async def test_failures_tell_what_to_do_next(topics: Topics) -> None:
    await topics("create", "a", "-p", "2")
    for arguments, told in (
        (["describe", "nothing"], "`stepdown topics list` shows what there is."),
        (
            ["delete", "nothing"],
            "stepdown: there is no topic nothing (UNKNOWN_TOPIC_OR_PARTITION)\n  `stepdown topics list`",
        ),
        (["alter", "a", "-p", "1"], "Partitions can be added, never removed."),
        (["alter", "a", "-c", "retention.ms=soon"], "`stepdown config KEY` shows the values"),
        (["create", "b!"], "Names have 1 to 249"),
        (["create", ""], 'stepdown: "": '),
        (["describe", "nothing"], "nothing: there is no such topic or partition (UNKNOWN_TOPIC_OR_PARTITION)"),
        (["create", "b", "--replication-factor", "3"], "There have to be that many brokers."),
    ):
        ended = await topics(*arguments)
        assert (ended.exit_code, told in ended.stderr) == (1, True), arguments


async def test_a_failure_in_json_is_both_told_and_an_exit_code(topics: Topics) -> None:
    ended = await topics("delete", "nothing", "--json")
    assert ended.exit_code == 1
    assert json.loads(ended.stdout)[0]["error"] == "UNKNOWN_TOPIC_OR_PARTITION"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["create", "a", "-c", "retention.mss=1"], "did you mean retention.ms?"),
        (["create", "a", "-c", "retention.ms"], "expected KEY=VALUE"),
        (["alter", "a"], "nothing to alter"),
        (["list", "-b", "host:port"], "--bootstrap-server: expected HOST:PORT"),
    ],
    ids=["unknown setting", "no value", "nothing", "bad address"],
)
def test_a_misuse_ends_with_2_before_a_broker_is_asked(arguments: list[str], told: str) -> None:
    ended = run_command("topics", *arguments)
    assert ended.exit_code == 2
    assert told in ended.stderr


async def test_the_second_of_two_brokers_is_asked_where_the_first_is_gone(tmp_path: Path) -> None:
    """Commands asked the first address of `-b` alone, and failed."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        gone = f"127.0.0.1:{closed.getsockname()[1]}"
    async with running_broker(tmp_path / "data") as broker:
        there = f"{gone},{broker.address}"
        ended = await asyncio.to_thread(run_command, "topics", "list", "--json", "-b", there)
    assert (ended.exit_code, ended.stdout) == (0, "[]\n"), ended.stderr
    ended = await asyncio.to_thread(run_command, "topics", "list", "-b", there)
    assert f"no broker answers at {there.replace(',', ', ')}: Connection refused" in ended.stderr


def test_no_broker_is_told_with_how_to_start_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    ended = run_command("topics", "list", "-b", f"127.0.0.1:{port}")
    assert ended.exit_code == 1
    assert f"no broker answers at 127.0.0.1:{port}" in ended.stderr
    assert "stepdown serve" in ended.stderr


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            b"",
            "ApiVersions\n  Its log says why. It may expect TLS or a login (--command-config FILE, ",
        ),
        (b"", "or be a gateway whose cluster is away."),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "protocol begins\n  Is a Kafka broker listening there?\n"),
    ],
    ids=["closes", "closes, as a gateway", "speaks HTTP"],
)
def test_something_else_that_listens_there_is_told(answer: bytes, told: str) -> None:
    """Of a gateway whose cluster was away, and of an HTTP port, it was said that TLS or SASL was the cause."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_answer_once, args=(server, answer))
        thread.start()
        ended = run_command("topics", "list", "-b", f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert ended.exit_code == 1
    assert told in ended.stderr


def _answer_once(server: socket.socket, answer: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(65_536)
        connection.sendall(answer)


async def test_a_misspelt_setting_is_not_removed(topics: Topics) -> None:
    """`-d retentoin.ms` was "altered", and the setting stayed."""
    await topics("create", "orders", "-c", "retention.ms=5000")
    ended = await topics("alter", "orders", "-d", "retentoin.ms")
    assert (ended.exit_code, "did you mean retention.ms?" in ended.stderr) == (2, True), ended.stderr


async def test_an_internal_topic_is_deleted_only_when_that_is_said(topics: Topics) -> None:
    """All committed offsets were gone with a topic that looks like others."""
    assert (await topics("create", "__consumer_offsets")).exit_code == 0
    ended = await topics("delete", "__consumer_offsets")
    assert (ended.exit_code, "is an internal topic" in ended.stderr) == (2, True), ended.stderr
    assert (await topics("delete", "__consumer_offsets", "--internal")).exit_code == 0


async def test_internal_topics_are_described_only_when_that_is_said(topics: Topics) -> None:
    """Fifty partitions of `__consumer_offsets` stood before those of the user."""
    await topics("create", "__consumer_offsets", "orders")
    for asked, shown in (
        ((), ["orders"]),
        (("--internal",), ["__consumer_offsets", "orders"]),
        (("__consumer_offsets",), ["__consumer_offsets"]),
    ):
        described = json.loads((await topics("describe", *asked, "--json")).stdout)
        assert [topic["name"] for topic in described] == shown
