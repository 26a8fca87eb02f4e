"""`stepdown configs` against a broker of its own."""

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
    run = commands_for(broker)
    await run("topics", "create", "t", "-p", 1)
    return run


async def rows(run: Stepdown, *arguments: object) -> Any:
    told = await run(*arguments, "--json")
    assert told.exit_code == 0, told.stderr
    return json.loads(told.stdout)


async def test_settings_of_a_topic_are_set_shown_and_deleted(run: Stepdown) -> None:
    told = await run("configs", "alter", "topic=t", "-c", "retention.ms=1000", "-c", "cleanup.policy=compact")
    assert (told.exit_code, told.stdout) == (0, "topic=t: altered\n")
    assert (await run("configs", "alter", "topic=t", "-d", "cleanup.policy")).exit_code == 0
    (row,) = await rows(run, "configs", "describe", "topic=t")
    assert row == {
        "name": "retention.ms",
        "value": "1000",
        "source": "DYNAMIC_TOPIC_CONFIG",
        "is_read_only": False,
        "is_sensitive": False,
    }
    every = await rows(run, "configs", "describe", "topic=t", "--all")
    assert {"cleanup.policy", "retention.ms"} < {each["name"] for each in every}
    assert "retention.ms  1000" in (await run("configs", "describe", "topic=t")).stdout


async def test_a_value_that_is_not_set_is_none_and_a_table_without_rows_is_a_sentence(run: Stepdown) -> None:
    """It was said not to be shown, as a password is, and where nothing was set there was a table without rows."""
    shown = (await run("configs", "describe", "broker=1", "--all")).stdout.splitlines()
    assert "(not shown)" in next(line for line in shown if line.startswith("ssl.keystore.password "))
    assert "(none)" in next(line for line in shown if line.startswith("broker.rack "))
    assert (
        await run("configs", "describe", "topic=t")
    ).stdout == "topic t has no settings of its own; --all shows those in force\n"
    for options in ((), ("--all",)):
        of_all_brokers = (await run("configs", "describe", "broker", *options)).stdout
        assert "no default for all brokers is set" in of_all_brokers
    assert (await run("configs", "describe", "user")).stdout == "no quotas\n"


async def test_a_check_changes_nothing(run: Stepdown) -> None:
    told = await run("configs", "alter", "topic=t", "-c", "retention.ms=1000", "--validate-only")
    assert told.stdout == "topic=t: could be altered\n"
    assert await rows(run, "configs", "describe", "topic=t") == []


async def test_a_broker_has_settings_of_its_own_and_of_all(run: Stepdown, broker: Broker) -> None:
    own = f"broker={broker.cluster.node_id}"
    for entity, value in (("broker", 2), (own, 3)):
        assert (await run("configs", "alter", entity, "-c", f"log.cleaner.threads={value}")).exit_code == 0
    (of_all,) = await rows(run, "configs", "describe", "broker")
    (of_one,) = await rows(run, "configs", "describe", own)
    assert (of_all["value"], of_all["source"]) == ("2", "DYNAMIC_DEFAULT_BROKER_CONFIG")
    assert (of_one["value"], of_one["source"]) == ("3", "DYNAMIC_BROKER_CONFIG")


async def test_loggers_of_a_broker_are_shown(run: Stepdown, broker: Broker) -> None:
    found = await rows(run, "configs", "describe", f"logger={broker.cluster.node_id}")
    assert {each["source"] for each in found} == {"DYNAMIC_BROKER_LOGGER_CONFIG"}


async def test_quotas_of_users_clients_and_addresses_are_set_shown_and_deleted(run: Stepdown) -> None:
    for entity in (["user=alice"], ["user=alice", "client=app"], ["user"]):
        assert (await run("configs", "alter", *entity, "-c", "producer_byte_rate=1024")).exit_code == 0
    assert (await run("configs", "alter", "ip=10.0.0.7", "-c", "connection_creation_rate=2.0")).exit_code == 0
    assert await rows(run, "configs", "describe", "user=alice") == [
        {"entity": {"user": "alice"}, "name": "producer_byte_rate", "value": 1024.0}
    ]
    found = await rows(run, "configs", "describe", "user")
    assert [each["entity"] for each in found] == [{"user": "alice"}, {"user": None}]
    (both,) = await rows(run, "configs", "describe", "user", "client")
    assert both["entity"] == {"client-id": "app", "user": "alice"}
    shown = (await run("configs", "describe", "ip")).stdout
    assert "ip=10.0.0.7  connection_creation_rate  2\n" in shown
    assert (await run("configs", "alter", "user=alice", "-d", "producer_byte_rate")).exit_code == 0
    assert await rows(run, "configs", "describe", "user=alice") == []


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("describe", "table=t"), 2, "'table=t' has no settings"),
        (("alter", "topic=t", "retention.ms=5"), 2, "settings go after -c of `configs alter`: -c retention.ms=5"),
        (("describe", "broker=7"), 1, "`stepdown cluster` lists the brokers."),
        (("describe", "topic"), 2, "topic: which one?"),
        (("describe", "topic=t", "user=u"), 2, "topic and user have no settings together"),
        (("describe", "user=a", "user=b"), 2, "user: expected once"),
        (("describe", "user="), 2, "user: expected once, with one name"),
        (("describe", "broker=x"), 2, "expected the id of a broker, found 'x'"),
        (("describe", "topic=none"), 1, "stepdown: there is no topic none (UNKNOWN_TOPIC_OR_PARTITION)"),
        (("alter", "topic=t"), 2, "nothing to alter"),
        (("alter", "topic=t", "-c", "retention.ms"), 2, "expected NAME=VALUE"),
        (("alter", "topic=t", "-c", "retention.ms=soon"), 1, "(INVALID_CONFIG)\n  `stepdown config KEY` shows"),
        (("alter", "user=u", "-c", "producer_byte_rate=fast"), 2, "a quota is a number"),
        (("alter", "user=u", "-c", "speed=1"), 1, "INVALID_REQUEST"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
async def test_what_is_wrong_is_said(run: Stepdown, arguments: tuple[str, ...], status: int, told: str) -> None:
    ended = await run("configs", *arguments)
    assert (ended.exit_code, told in ended.stderr) == (status, True), ended.stderr
