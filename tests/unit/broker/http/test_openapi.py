"""The control port lists what it can be asked, and the page about it is made of the same words."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.faults.control_operation import ControlOperation
from stepdown.broker.faults.fault import Fault
from stepdown.broker.faults.fault_fields import make_fault
from stepdown.broker.http.openapi import OVER_HTTP, openapi
from stepdown.testing.control_client import HttpControl
from stepdown.testing.make_brokers import make_brokers
from stepdown.testing.running_brokers import Running

PAGE = (Path(__file__).parents[4] / "docs" / "testing-with-stepdown.md").read_text()


@pytest.fixture(params=[1, 2])
async def operations(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[ControlOperation]]:
    """Of one broker, and of a cluster."""
    brokers = make_brokers(str(tmp_path), brokers=request.param, config={})
    await brokers.start()
    yield list(brokers.control.operations.values())
    await brokers.stop()


async def test_the_port_lists_what_it_can_be_asked() -> None:
    """It was found by reading the source only."""
    brokers = Running(config={"stepdown.control.listen": "127.0.0.1:0"})
    async with brokers as kafka:
        listed = await HttpControl(brokers.control_address).ask("GET", "/")
        described = await HttpControl(brokers.control_address).ask("GET", listed["openapi"])
        assert listed == await kafka.control.ask("GET", "/")
    asked = {(each["path"], each["method"].lower()) for each in listed["operations"]}
    assert {("/faults", "post"), ("/faults/{id}/wait", "post"), ("/brokers/kill", "post"), ("/", "get")} <= asked
    assert {(path, method) for path, methods in described["paths"].items() for method in methods} == asked
    advance = next(each for each in listed["operations"] if each["path"] == "/clock/advance")
    assert advance["needs"] == ["by"] and "45s" in advance["fields"]["by"]


async def test_the_description_has_each_field_in_the_words_of_its_parser(operations: list[ControlOperation]) -> None:
    described = openapi(operations)
    for each in operations:
        shown = described["paths"][f"/{each.path}"][each.method.lower()]
        assert shown["summary"] == each.what
        assert ("parameters" in shown) == ("{id}" in each.path)
        if each.fields:
            schema = shown["requestBody"]["content"]["application/json"]["schema"]
            assert set(schema["properties"]) == set(each.fields)
            assert set(schema["required"]) == set(each.needs)
            assert all(field["description"] not in ("", "anything") for field in schema["properties"].values())


@pytest.mark.parametrize("kind", OVER_HTTP, ids=lambda kind: kind.kind)
def test_each_kind_of_fault_is_described_with_its_fields(kind: type[Fault]) -> None:
    schema = openapi([])["components"]["schemas"][kind.kind]
    needed = {
        "code": 6,
        "delay": "1s",
        "what": {"corrupt": "crc"}.get(kind.kind, "full"),
        "api": "Produce",
        "leader": 2,
    }
    fields = {name: needed[name] for name in schema["required"] if name != "kind"}
    more = {"high_watermark": 1} if "high_watermark" in schema["properties"] else {}
    assert make_fault({"kind": schema["properties"]["kind"]["const"], **fields, **more}).kind == kind.kind


async def test_the_page_has_all_of_it(operations: list[ControlOperation]) -> None:
    missing = [each for each in operations if f"| `{each.method} /{each.path}` |" not in PAGE]
    assert not missing, "print the table: one line for each operation of a cluster and of one broker"
