import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from support.command import Finished, run_command
from support.running import running_broker

Acls = Callable[..., Awaitable[Finished]]
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.fixture
async def acls(tmp_path: Path) -> AsyncIterator[Acls]:
    """`stepdown acls …` against a broker of its own, as a super user; the command blocks, so it runs in a thread."""
    async with running_broker(
        tmp_path / "data", authorizer_class_name=AUTHORIZER, super_users="User:ANONYMOUS"
    ) as broker:

        async def run(*arguments: str) -> Finished:
            return await asyncio.to_thread(run_command, "acls", *arguments, "-b", str(broker.address))

        yield run


async def listed(acls: Acls, *arguments: str) -> list[tuple[str, str, str]]:
    rows = json.loads((await acls("list", "--json", *arguments)).stdout)
    return [(row["resource"], row["name"], row["operation"]) for row in rows]


async def test_rules_are_added_listed_and_removed(acls: Acls) -> None:
    who = ("--principal", "User:alice")
    added = await acls("add", *who, "--operation", "read", "--operation", "describe-configs", "--topic", "orders")
    assert added.exit_code == 0, added.stderr
    assert "describe-configs" in added.stdout
    await acls("add", *who, "--operation", "READ", "--group", "o", "--prefixed", "--deny", "--host", "10.0.0.1")
    assert await listed(acls) == [
        ("topic", "orders", "read"),
        ("topic", "orders", "describe-configs"),
        ("group", "o", "read"),
    ]
    removed = await acls("remove", "--topic", "orders", "--operation", "read", "--json")
    assert [row["operation"] for row in json.loads(removed.stdout)] == ["read"]
    assert len(await listed(acls)) == 2
    await acls("remove", "--all")
    assert await listed(acls) == []


async def test_what_applies_to_a_name_is_listed(acls: Acls) -> None:
    await acls("add", "--principal", "User:a", "--operation", "all", "--topic", "or", "--prefixed")
    await acls("add", "--principal", "User:a", "--operation", "read", "--topic", "*", "--topic", "others")
    assert await listed(acls, "--topic", "orders") == [("topic", "*", "read"), ("topic", "or", "all")]


async def test_what_is_missing_or_misspelled_is_said(acls: Acls) -> None:
    assert "a rule needs" in (await acls("add", "--topic", "orders")).stderr
    wrong = await acls("add", "--principal", "User:a", "--topic", "t", "--operation", "raed")
    assert (wrong.exit_code, "Did you mean read?" in wrong.stderr) == (2, True)
    assert "--all" in (await acls("remove")).stderr
    refused = await acls("add", "--principal", "alice", "--operation", "read", "--topic", "t")
    assert (refused.exit_code, "INVALID_REQUEST" in refused.stderr) == (1, True)


async def test_a_broker_without_an_authorizer_says_how_to_have_one(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "data") as broker:
        told = await asyncio.to_thread(run_command, "acls", "list", "-b", str(broker.address))
    assert told.exit_code == 1
    assert "SECURITY_DISABLED" in told.stderr
    assert "authorizer.class.name" in told.stderr
