import asyncio
import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from stepdown.cli.support.failures import CommandFailure
from stepdown.cli.support.outcomes import raise_failed_outcomes
from stepdown.cli.users import commands
from stepdown.client.operation import Operation
from stepdown.client.operations.users import remove_password, set_password
from stepdown.protocol.errors import ErrorCode
from support.command import run_command
from support.running import running_broker

T = TypeVar("T")


class Answering:
    """In the place of a broker that answers with one code."""

    def __init__(self, code: int = 0) -> None:
        self.code = code
        self.asked: list[Any] = []

    def run(self, operation: Operation[T]) -> T:
        self.asked.append(next(operation).make_request(0))
        result = SimpleNamespace(user="alice", error_code=self.code, error_message=None)
        with pytest.raises(StopIteration) as end:
            operation.send(SimpleNamespace(results=[result]))
        value: T = end.value.value
        return value


@pytest.mark.parametrize(
    ("mechanism", "code", "digest"), [("SCRAM-SHA-256", 1, "sha256"), ("SCRAM-SHA-512", 2, "sha512")]
)
def test_a_password_is_salted_before_it_is_sent(mechanism: str, code: int, digest: str) -> None:
    broker = Answering()
    broker.run(set_password("alice", "s\u00e9cret", mechanism, 5000))
    (sent,) = broker.asked[0].upsertions
    assert (sent.name, sent.mechanism, sent.iterations) == ("alice", code, 5000)
    assert len(sent.salt) >= 16
    assert sent.salted_password == hashlib.pbkdf2_hmac(digest, "s\u00e9cret".encode(), sent.salt, 5000)


def test_what_the_broker_refuses_is_said() -> None:
    (outcome,) = Answering(ErrorCode.RESOURCE_NOT_FOUND).run(remove_password("alice", "SCRAM-SHA-512"))
    with pytest.raises(CommandFailure, match="alice: RESOURCE_NOT_FOUND"):
        raise_failed_outcomes([outcome], commands.HINTS)


async def test_users_are_listed(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "data") as broker:
        told = await asyncio.to_thread(run_command, "users", "list", "--json", "-b", str(broker.address))
    assert (told.exit_code, told.stdout) == (0, "[]\n")


def test_a_password_is_not_taken_from_nowhere() -> None:
    told = run_command("users", "set", "alice")
    assert (told.exit_code, "no password on stdin" in told.stderr) == (2, True)
    assert "--mechanism" in run_command("users", "set", "alice", "-m", "PLAIN").stderr
