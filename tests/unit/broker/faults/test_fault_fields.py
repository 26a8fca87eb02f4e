"""Fields to a fault and back; what is wrong with them is said."""

import pytest
from stepdown.broker.faults.fault_fields import WrongFault, fault_of, fields_of
from stepdown.broker.faults.kinds.delay import DelayFault
from stepdown.broker.faults.kinds.error import ErrorFault
from stepdown.protocol.api import ApiKey
from stepdown.protocol.errors import ErrorCode


def test_fields_become_values_and_fields_again() -> None:
    fields = {
        "kind": "error",
        "api": ["Produce", "OffsetCommit"],
        "versions": "3-7",
        "topic": "t",
        "times": 3,
        "after": 1,
        "code": "NOT_LEADER_OR_FOLLOWER",
    }
    fault = fault_of(fields)
    assert isinstance(fault, ErrorFault)
    assert fault.api == (ApiKey.PRODUCE, ApiKey.OFFSET_COMMIT)
    assert (fault.versions, fault.code) == ((3, 7), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert fields_of(fault) == fields


@pytest.mark.parametrize(
    ("text", "ms"),
    [("45s", 45_000), ("500ms", 500), ("1h30m", 5_400_000), ("1.5s", 1500), (20, 20), ("2d", 172_800_000)],
)
def test_times_have_units(text: str | int, ms: int) -> None:
    fault = fault_of({"kind": "delay", "delay": text})
    assert isinstance(fault, DelayFault) and fault.delay == ms


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "eror"}, "did you mean error"),
        ({"kind": "error", "code": 6, "tims": 2}, "has no field 'tims'; did you mean times"),
        ({"kind": "black_hole", "delay": 5}, "has no field 'delay'"),
        ({"kind": "error"}, "needs code"),
        ({"kind": "error", "code": "NOPE"}, "code: expected an error code of Kafka"),
        ({"kind": "delay", "delay": "5 parsecs"}, "delay: expected a time such as 45s"),
        ({"kind": "drop", "api": "Prodce"}, "api: expected the name of an API"),
        ({"kind": "drop", "times": -1}, "times: expected a whole number of at least 0"),
        ({"kind": "drop", "probability": 1.5}, "probability: expected a number from 0 to 1"),
        ({"kind": "drop", "when": "during"}, "when: expected before or after"),
        ({"kind": "drop", "optional": "yes"}, "optional: expected true or false"),
        ({"kind": "drop", "topic": 5}, "topic: expected a text"),
        ({"kind": "disk", "api": "Produce"}, "has no field 'api'"),
        ({"kind": "lose_marker", "group": "shop"}, "has no field 'group'"),
        ({"kind": "versions", "api": "Fetch", "only": "x"}, "only: expected versions such as"),
    ],
)
def test_what_is_wrong_is_said(fields: dict[str, object], said: str) -> None:
    with pytest.raises(WrongFault, match=said):
        fault_of(fields)
