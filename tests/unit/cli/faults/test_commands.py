"""`stepdown faults` and `stepdown clock` against a broker with a control port."""

from collections.abc import Iterator

import pytest
from stepdown.broker.faults.kinds import KINDS
from stepdown.cli.commands import app
from stepdown.cli.support.failures import CommandFailure
from stepdown.testing.running_brokers import Running
from typer.testing import CliRunner


@pytest.fixture
def control() -> Iterator[str]:
    running = Running(config={"stepdown.control.listen": "127.0.0.1:0"})
    with running:
        yield running.control_address


def run(control: str, *arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--control", control])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_a_fault_is_armed_listed_and_removed(control: str) -> None:
    run(control, "faults", "arm", "error", "api=Produce", "code=NOT_LEADER_OR_FOLLOWER", "times=3", "topic=orders")
    (line,) = run(control, "faults", "list").splitlines()
    assert line.startswith("1  armed  0 hits  ") and '"times": 3' in line and '"topic": "orders"' in line
    run(control, "faults", "remove", "1")
    assert "removed" in run(control, "faults", "list")
    assert "fault 1 armed: error" in run(control, "faults", "requests")


def test_the_clock_moves(control: str) -> None:
    assert '"paused": true' in run(control, "clock", "pause")
    run(control, "clock", "advance", "45s")
    assert '"paused": false' in run(control, "clock", "resume")


def test_what_never_fired_ends_a_reset_with_a_failure(control: str) -> None:
    run(control, "faults", "arm", "drop", "api=Fetch")
    with pytest.raises(CommandFailure, match="has fired 0 times in 5ms, not 1"):
        run(control, "faults", "wait", "1", "--timeout", "5ms")
    with pytest.raises(CommandFailure, match="never fired"):
        run(control, "faults", "reset")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("faults", "arm", "drop", "tims=3"), "has no field 'tims'"),
        (("faults", "arm", "drop", "times"), "expected FIELD=VALUE"),
        (("faults", "do", "segments/corrupt", "topic=nope"), "no partition nope-0"),
    ],
)
def test_what_is_wrong_is_said(control: str, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandFailure, match=said):
        run(control, *arguments)


def test_the_address_may_be_that_of_a_browser(control: str) -> None:
    """What one copied from there was refused."""
    run(f"http://{control}/", "faults", "list")
    with pytest.raises(CommandFailure, match="--control: expected HOST:PORT"):
        run(f"https://{control}/", "faults", "list")


def test_where_nothing_listens_the_next_step_is_told() -> None:
    with pytest.raises(CommandFailure, match="serve --control"):
        run("127.0.0.1:1", "faults", "list")


def test_the_kinds_are_listed_without_a_broker() -> None:
    result = CliRunner().invoke(app, ["faults", "kinds"])
    assert result.exit_code == 0
    assert [line.split(" ")[0].rstrip(":") for line in result.stdout.splitlines()[:-1]] == list(KINDS)
    assert "delay (delay, when): The request, or its answer, waits for the time `delay`." in result.stdout
