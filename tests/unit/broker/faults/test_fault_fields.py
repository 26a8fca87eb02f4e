"""Fields to a fault and back; what is wrong with them is said."""

import pytest
from stepdown.broker.faults.fault_fields import WrongFault, describe_fault, fault_to_fields, fields_of_kind, make_fault
from stepdown.broker.faults.kinds import KINDS
from stepdown.broker.faults.kinds.delay import DelayFault
from stepdown.broker.faults.kinds.error import ErrorFault
from stepdown.broker.faults.request_topics_and_groups import groups_of, names_groups, names_topics
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction
from stepdown.protocol.messages.describe_transactions import DescribeTransactionsRequest


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
    fault = make_fault(fields)
    assert isinstance(fault, ErrorFault)
    assert fault.api == (ApiKey.PRODUCE, ApiKey.OFFSET_COMMIT)
    assert (fault.versions, fault.code) == ((3, 7), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert fault_to_fields(fault) == fields


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("45s", 45_000),
        ("500ms", 500),
        ("1h30m", 5_400_000),
        ("1.5s", 1500),
        (20, 20),
        ("2 d", 172_800_000),
        ("1h 30 m", 5_400_000),
    ],
)
def test_times_have_units(text: str | int, ms: int) -> None:
    """A space before a unit was refused, in words that did not name it."""
    fault = make_fault({"kind": "delay", "delay": text})
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
        ({"kind": "drop", "times": -1}, "times: expected a whole number of at least 1"),
        ({"kind": "drop", "when": "before", "bytes": 6}, "one of when, bytes, not both"),
        ({"kind": "drop", "api": "Heartbeat", "topic": "t"}, "Heartbeat names no topic"),
        ({"kind": "drop", "api": "Metadata", "group": "g"}, "Metadata names no group"),
        ({"kind": "drop", "api": "Produce", "versions": "90-99"}, "no versions 90-99 of Produce"),
        ({"kind": "lose", "api": "Fetch"}, "a fault of kind lose is for Produce, not for Fetch"),
        ({"kind": "corrupt", "what": "crc", "api": "Produce"}, "only answers to Fetch have records"),
        ({"kind": "watermark"}, "needs high_watermark or last_stable_offset"),
        ({"kind": "duplicate", "group": "tx"}, "has no field 'group'"),
        ({"kind": "versions", "api": "Fetch", "only": "70+"}, "Fetch has versions 0 to"),
        ({"kind": "versions", "api": "Fetch", "topic": "t"}, "has no field 'topic'"),
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
        make_fault(fields)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"kind": "delay", "delay": "1ms", "api": "Produce"}, "delay 1 ms, api=Produce"),
        (
            {"kind": "error", "code": 6, "api": ["Fetch", "Produce"], "times": 3},
            "error NOT_LEADER_OR_FOLLOWER, api=Fetch,Produce, times=3",
        ),
        ({"kind": "black_hole"}, "black_hole"),
    ],
)
def test_a_fault_is_told_with_what_it_does(fields: dict[str, object], told: str) -> None:
    """What brokers did last had "fault 1 armed: delay", not for how long nor of what."""
    assert describe_fault(fault_to_fields(make_fault(fields))) == told


NONSENSE: dict[str, list[object]] = {
    "api": ["Prodce", [], 5],
    "versions": ["7-0", "x", -1],
    "broker": ["1", 1.5, True],
    "topic": ["", 5],
    "partition": [-1, "0", True],
    "client_id": [5],
    "group": ["", 5],
    "times": [0, -1, 1.5, True],
    "after": [-1, True],
    "probability": [-0.1, 1.5, "often", True],
    "optional": ["yes", 1],
    "code": ["NOPE", "NONE", 0, True, 1.5],
    "when": ["during", 5],
    "delay": [0, "0s", -1, "5 parsecs", "9999999d", True, 1.5],
    "mute": ["yes"],
    "what": ["", "nothing"],
    "bytes": [-1, "6"],
    "high_watermark": [1.5, True],
    "last_stable_offset": ["5"],
    "leader": [-2, "1", True],
    "only": ["7-0", "x"],
    "function": [5, "f", lambda request: None],
}
FIELDS = [(kind, field.name) for kind in KINDS for field in fields_of_kind(KINDS[kind])]


@pytest.mark.parametrize(("kind", "name"), FIELDS)
def test_nonsense_in_any_field_of_any_kind_is_an_error(kind: str, name: str) -> None:
    """A fault that fires 0 times, answers NONE, or is for versions 7 to 0 was armed and never did anything."""
    for value in NONSENSE[name]:
        with pytest.raises(WrongFault, match=f"^{name}: expected .*, found"):
            make_fault({"kind": kind, name: value})


@pytest.mark.parametrize("key", API, ids=lambda key: key.name)
def test_a_fault_for_a_topic_or_a_group_is_for_requests_that_can_name_one(key: ApiKey) -> None:
    """With `api="Heartbeat", topic=…` a fault could never fire, and was armed all the same."""
    for name, is_known in (("topic", names_topics(API[key].request)), ("group", names_groups(API[key].request))):
        fields = {"kind": "drop", "api": API[key].name, name: "x"}
        if is_known:
            assert make_fault(fields)
        else:
            with pytest.raises(WrongFault, match=f"{API[key].name} names no {name}"):
                make_fault(fields)


def test_a_transactional_id_is_found_in_every_version_that_names_it() -> None:
    """Faults with `group=` passed AddPartitionsToTxn and DescribeTransactions by."""
    transaction = AddPartitionsToTxnTransaction(transactional_id="new")
    request = AddPartitionsToTxnRequest(v3_and_below_transactional_id="old", transactions=(transaction,))
    assert groups_of(request) >= {"old", "new"}
    assert groups_of(DescribeTransactionsRequest(transactional_ids=("tx",))) == {"tx"}
