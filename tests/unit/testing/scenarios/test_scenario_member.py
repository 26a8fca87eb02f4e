"""Members of groups in scenarios: what they do when the group, the coordinator or they themselves fail."""

import pytest
from stepdown.testing.scenarios.runner import run
from stepdown.testing.scenarios.scenario import parse

HEAD = """
name: x
title: x
explains: x
topics: {t: {partitions: 2}}
members:
  a: {group.id: g, topics: [t]}
  b: {group.id: g, topics: [t]}
  wrong: {group.id: g, topics: [t], sesion.timeout.ms: 1}
  aimless: {group.id: g}
"""
BOTH = "join: [a, b]", "advance: 5s", "expect: {assigned: {a: [t-0], b: [t-1]}}"


async def failure_of(*steps: str, head: str = HEAD) -> str:
    text = head + "steps:\n" + "".join(f"  - {step}\n" for step in steps)
    result = await run(parse(text, "here"))
    return result.failure and "\n".join([result.failure, *result.lines])


async def test_who_crashes_keeps_its_partitions_until_its_session_is_over() -> None:
    assert not await failure_of(
        *BOTH,
        "crash: [b]",
        "advance: 40s",
        "expect: {assigned: {a: [t-0]}}",
        "advance: 10s",
        "expect: {assigned: {a: [t-0, t-1]}}",
        "join: [b]",
        "advance: 5s",
        "expect: {assigned: {a: [t-0], b: [t-1]}}",
    )


async def test_who_leaves_gives_its_partitions_to_the_others_at_once() -> None:
    assert not await failure_of(*BOTH, "leave: [a, b]", "advance: 1ms", "expect: {groups: {g: Empty}}")


async def test_who_is_unknown_joins_anew_and_its_former_self_goes_with_its_session() -> None:
    assert not await failure_of(
        *BOTH,
        "arm: {kind: error, api: Heartbeat, code: UNKNOWN_MEMBER_ID, client_id: b}",
        "advance: 20s",
        "expect: {groups: {g: PreparingRebalance}}",
        "advance: 40s",
        "expect: {assigned: {a: [t-0], b: [t-1]}, groups: {g: Stable}}",
    )


async def test_who_is_told_of_another_coordinator_looks_for_it_and_stays() -> None:
    assert not await failure_of(
        *BOTH,
        "arm: {kind: error, api: Heartbeat, code: NOT_COORDINATOR, client_id: b}",
        "advance: 60s",
        "expect: {assigned: {a: [t-0], b: [t-1]}, generations: {g: 2}}",
    )


async def test_a_coordinator_that_dies_is_looked_for_again() -> None:
    assert not await failure_of(
        *BOTH,
        "do: {action: brokers/kill, leader_of: __consumer_offsets}",
        "advance: 60s",
        "expect: {assigned: {a: [t-0], b: [t-1]}, groups: {g: Stable}}",
        head=HEAD + "brokers: 3\n",
    )


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (["join: [nobody]"], "'nobody'"),
        (["join: [wrong]"], "sesion.timeout.ms of member wrong"),
        (["join: [aimless]"], "topics of member aimless"),
        (["join: [a, a]"], "a has joined already"),
        (["leave: [a]"], "a has not joined"),
        (["join: [a]", "expect: {generations: {g: 7}}"], "g is in generation 1, not 7"),
        (["join: [a]", "expect: {assigned: {a: []}}"], "members have {'a': ['t-0', 't-1']}"),
        (["expect: {groups: {g: Stable}}"], "g is Dead, not Stable"),
    ],
)
async def test_what_is_not_as_expected_is_said(steps: list[str], said: str) -> None:
    assert said in await failure_of(*steps)
