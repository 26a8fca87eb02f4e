"""What ends a command that goes on until it is told to."""

import signal
from collections.abc import Iterator

import pytest
from stepdown.cli.support import stop_signals as stopping
from stepdown.cli.support.stop_signals import ONE_TIME_S, SignalStop, StopSignals


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    at = [1000.0]
    monkeypatch.setattr(stopping, "monotonic", lambda: at[0])
    # A shell without job control has what it starts in the background ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield at
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_twice_at_once_is_one(now: list[float], number: signal.Signals) -> None:
    """`timeout` sends its own twice."""
    heard: list[int] = []
    with StopSignals(heard.append) as told:
        assert told.by is None
        signal.raise_signal(number)
        signal.raise_signal(number)
        now[0] += ONE_TIME_S
        signal.raise_signal(number)
        assert told.by == number
    assert heard == [number]


def test_a_later_one_ends_the_process_as_usual(now: list[float]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with StopSignals() as told:
        signal.raise_signal(signal.SIGTERM)
        now[0] += ONE_TIME_S + 0.1
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert told.by == signal.SIGTERM
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_ends_a_wait_once(now: list[float]) -> None:
    with StopSignals() as told:
        with pytest.raises(SignalStop), told.end_wait_on_signal():
            signal.raise_signal(signal.SIGTERM)
        with told.end_wait_on_signal():
            signal.raise_signal(signal.SIGTERM)
    assert told.by == signal.SIGTERM
