"""Requests that name things twice, leave them empty or give codes that do not exist, to Kafka 3.9.1 and to stepdown.

docs/compatibility.md lists the intended differences; `DIFFERENT` asserts that they are there.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from support.admin import create, write
from support.broker import broker_under_test
from support.client import RawClient
from support.deadline import DEADLINE_S
from support.kafka import QUICK, ApacheKafka
from support.side_by_side import Side, coordinators_ready
from support.steps import Step, comparable
from support.unusual_steps import unusual_steps

pytestmark = pytest.mark.java

STEPS = {step.name: step for step in unusual_steps()}
NO_ANSWER, HUNG_UP = "no answer", "hung up"
NEVER_S = 1.0
"""How long Kafka has for what it is known never to answer."""

DIFFERENT: Mapping[str, tuple[Any, Any]] = {
    "produce no records": (NO_ANSWER, [87]),
    "produce records and none": (NO_ANSWER, [0, 87]),
    "markers for a partition named twice": (NO_ANSWER, [0]),
    "markers for a topic named twice": (NO_ANSWER, [0]),
    "commit to ZooKeeper": ([35], [0]),
    "offsets from ZooKeeper": ([0, 35, 35], [0, 0, 3]),
    **{f"operation {code} on 2:{name}": ([-1], [42]) for code in (-1, 4, 100) for name in ("a", "nope")},
    **{
        f"rule with {field} 0": (HUNG_UP, [54])
        for field in ("resource_type", "resource_pattern_type", "operation", "permission_type")
    },
    **{
        f"{rules} with {field} 0": (HUNG_UP, [54])
        for rules in ("rules", "rules to delete")
        for field in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")
    },
    "password 0": ([-1], [93]),
    "password 2": ([-1], [93]),
}
"""By the step's name without its version: the codes that Kafka answers, and ours."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, tuple[Any, Any]]]:
    """What both answered to each step."""
    folder = tmp_path_factory.mktemp("unusual")
    with ApacheKafka(folder / "kafka") as kafka:
        ours = broker_under_test(folder / "ours", properties=QUICK)
        ours.start()
        try:
            yield asyncio.run(_ask_both(Side.at(kafka.address), Side.at(ours.address)))
        finally:
            ours.stop()


async def _ask_both(kafka: Side, ours: Side) -> dict[str, tuple[Any, Any]]:
    await asyncio.gather(_prepare(kafka), _prepare(ours))
    found = {}
    for step in STEPS.values():
        never = DIFFERENT.get(_without_version(step), ("", ""))[0] == NO_ANSWER
        within_s = NEVER_S if never else DEADLINE_S
        found[step.name] = (await _answer(kafka, step, within_s), await _answer(ours, step, DEADLINE_S))
    return found


async def _prepare(side: Side) -> None:
    """Topics that answer, and coordinators."""
    await side.connect(1)
    client = side.clients[0]
    for name, partitions in (("a", 2), ("b", 1)):
        await create(client, name, partitions)
        async with asyncio.timeout(DEADLINE_S):
            while not await _is_written(client, name):
                pass
    await coordinators_ready(side)
    await side.close()


async def _is_written(client: RawClient, name: str) -> bool:
    """Kafka knows of a new topic once its broker has followed its controller."""
    try:
        await write(client, name)
    except AssertionError:
        return False
    return True


async def _answer(side: Side, step: Step, within_s: float) -> Any:
    async with await RawClient.connect(side.host, side.port) as client:
        try:
            async with asyncio.timeout(within_s):
                return comparable(await client.send(step.request, step.version))
        except TimeoutError:
            return NO_ANSWER
        except ConnectionError:
            return HUNG_UP


def _without_version(step: Step) -> str:
    return step.name.rpartition(" v")[0]


def _codes(answer: Any) -> Any:
    """All error codes of an answer in their order, or what came instead."""
    if isinstance(answer, str):
        return answer
    return sorted(_found(answer))


def _found(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "error_code":
                yield inner
            else:
                yield from _found(inner)
    elif isinstance(value, list):
        for each in value:
            yield from _found(each)


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_both_answer_alike(answers: Mapping[str, tuple[Any, Any]], step: Step) -> None:
    theirs, mine = answers[step.name]
    if _without_version(step) in DIFFERENT:
        assert (_codes(theirs), _codes(mine)) == DIFFERENT[_without_version(step)]
    else:
        assert mine == theirs
