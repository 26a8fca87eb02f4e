"""A fault that never fired is told with the requests that differ from it in the least."""

from typing import Any

import pytest
from stepdown.broker.faults.armed_faults import ArmedFault, describe_near_misses
from stepdown.broker.faults.event_log import RequestEvent
from stepdown.broker.faults.fault_fields import make_fault


def request(api: str, topic: str, client_id: str = "app") -> RequestEvent:
    return RequestEvent(
        at_ms=0,
        broker=1,
        api=api,
        version=11,
        client_id=client_id,
        software="",
        size_bytes=1,
        is_deprecated=False,
        topics=[topic],
    )


CAME = [request("Produce", "orders"), request("Produce", "orders"), request("Fetch", "audit", "reader")]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"api": "Produce", "topic": "audit"}, "what came near: Produce v11 of orders from app (2 times)"),
        ({"api": "Produce", "topic": "orders", "client_id": "me"}, "what came near: Produce v11 of orders from app (2"),
        ({"api": "Heartbeat"}, "no request came near it"),
        ({"api": "Heartbeat", "client_id": "reader"}, "what came near: Fetch v11 of audit from reader"),
    ],
)
def test_what_differs_least_is_named(fields: dict[str, Any], said: str) -> None:
    armed = ArmedFault(number=1, fault=make_fault({"kind": "drop", **fields}))
    assert describe_near_misses(armed, CAME).startswith(said)


def test_requests_that_matched_and_passed_are_counted() -> None:
    armed = ArmedFault(number=1, fault=make_fault({"kind": "drop", "api": "Produce", "after": 3}))
    armed.seen = 2
    assert describe_near_misses(armed, CAME) == "2 requests matched, after=3 and probability=1 let them pass"
