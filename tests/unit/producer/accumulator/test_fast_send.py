"""Where records come in, compiled and as its readable twin: who has a lane goes by it, all others the long way."""

from typing import Any

import pytest
import stepdown.producer
from stepdown.producer import Producer
from stepdown.producer.accumulator import fast_send
from support.twin import load_twin


class _Lane:
    def __init__(self, takes: bool) -> None:
        self._takes = takes

    def send(self, *asked: object) -> object:
        return ("lane", *asked) if self._takes else None


class _Clock:
    def now_ms(self) -> int:
        return 7


@pytest.fixture(params=["compiled", "twin"])
def door(request: pytest.FixtureRequest) -> Any:
    base: Any = (
        fast_send if request.param == "compiled" else load_twin("accumulator.fast_send", stepdown.producer)
    ).FastSend

    class Door(base):  # type: ignore[misc]
        def _send(self, *asked: object) -> object:
            return ("long way", *asked)

    made = Door()
    made._clock, made._lanes = _Clock(), {"t": _Lane(True), "full": _Lane(False)}
    return made


def test_a_value_alone_goes_by_the_lane_of_its_topic(door: Any) -> None:
    assert door.send("t", b"x") == ("lane", b"x", 7, None)
    assert door.send("t", b"x", key=None, headers=[], callback=len) == ("lane", b"x", 7, len)


@pytest.mark.parametrize(
    ("topic", "value", "more"),
    [
        ("other", b"x", {}),
        ("full", b"x", {}),
        ("t", None, {}),
        ("t", bytearray(b"x"), {}),
        ("t", b"x", {"key": b""}),
        ("t", b"x", {"partition": 0}),
        ("t", b"x", {"timestamp": 0}),
        ("t", b"x", {"headers": [("h", b"1")]}),
    ],
    ids=str,
)
def test_all_others_go_the_long_way(door: Any, topic: str, value: Any, more: dict[str, Any]) -> None:
    asked = {"key": None, "partition": None, "timestamp": None, "headers": (), "callback": None} | more
    assert door.send(topic, value, **more) == ("long way", topic, value, *asked.values())


def test_a_producer_tells_how_it_is_called() -> None:
    assert "await it for the RecordMetadata" in (Producer.send.__doc__ or "")
    with pytest.raises(TypeError, match="send"):
        Producer("127.0.0.1:9092").send()  # type: ignore[call-arg]
