"""What is said of kinds of faults is what their classes declare."""

from pathlib import Path

import pytest
from stepdown.broker.faults.fault import Fault, FaultStage
from stepdown.broker.faults.fault_fields import fault_to_fields, make_fault
from stepdown.broker.faults.kinds import KINDS
from stepdown.protocol.api import ApiKey

PAGE = (Path(__file__).resolve().parents[5] / "docs" / "testing-with-stepdown.md").read_text()
NEEDED = {
    "error": {"code": "NOT_LEADER_OR_FOLLOWER"},
    "delay": {"delay": 5},
    "throttle": {"delay": 5},
    "corrupt": {"what": "crc"},
    "versions": {"api": ["Produce"]},
    "metadata": {"leader": 2},
    "watermark": {"high_watermark": 5},
    "disk": {"what": "full"},
}
STEPS = {FaultStage.BEFORE: Fault.act_before, FaultStage.AFTER: Fault.act_after, FaultStage.ENCODED: Fault.act_on_bytes}


def every_kind_but_hooks() -> list[str]:
    return [kind for kind in KINDS if kind != "hook"]  # a hook is a function, which JSON does not have


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_says_what_it_does_in_a_sentence(kind: str) -> None:
    said = KINDS[kind].__doc__ or ""
    assert said.endswith(".") and "\n" not in said and not said.startswith(KINDS[kind].__name__)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_on_the_page(kind: str) -> None:
    assert f"`{kind}(" in PAGE or f"faults.{kind}(" in PAGE or f"`{kind}`" in PAGE


@pytest.mark.parametrize("kind", every_kind_but_hooks())
def test_each_kind_comes_back_from_what_it_is_shown_as(kind: str) -> None:
    fault = make_fault({"kind": kind, **NEEDED.get(kind, {})})
    assert type(fault) is KINDS[kind]
    assert make_fault(fault_to_fields(fault)) == fault


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", every_kind_but_hooks())
@pytest.mark.parametrize("key", [ApiKey.PRODUCE, ApiKey.API_VERSIONS], ids=lambda key: key.name)
def test_each_kind_does_something_at_the_place_where_it_fires(kind: str, when: str, key: ApiKey) -> None:
    fields = {"kind": kind, **NEEDED.get(kind, {})}
    if hasattr(KINDS[kind], "when"):
        fields["when"] = when
    stage = make_fault(fields).stage_for(key)
    if "api" not in KINDS[kind].missing_fields:
        name = STEPS[stage].__name__
        assert getattr(KINDS[kind], name) is not getattr(Fault, name)
    else:
        assert stage is FaultStage.NOWHERE
