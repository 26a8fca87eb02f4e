"""The same admin requests, byte for byte, to Kafka 3.9.1 and to stepdown: the answers have to say the same.

Left out of the comparison: messages, addresses, ids, paths, sizes of disks, counts of metadata writes, times, and order
where it means nothing. docs/compatibility.md lists the intended differences; `DIFFERENT` asserts that they are there.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from support.admin_steps import steps
from support.broker import broker_under_test
from support.client import RawClient
from support.deadline import DEADLINE_S
from support.kafka import ApacheKafka
from support.steps import Step, comparable

pytestmark = pytest.mark.java

STEPS = {step.name: step for step in steps()}
Answers = Mapping[str, tuple[Any, Any]]


def _listener(answer: dict[str, Any]) -> str:
    """The quorum has no listener of its own here."""
    return str(answer["nodes"][0]["listeners"][0].pop("name"))


DIFFERENT: Mapping[str, tuple[Callable[[dict[str, Any]], Any], Any, Any]] = {
    "quorum of __cluster_metadata v2": (_listener, "CONTROLLER", "PLAINTEXT"),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """What both answered to each step."""
    properties = {"num.network.threads": "2", "num.io.threads": "2", "log.retention.ms": "-1"}
    folder = tmp_path_factory.mktemp("admin")
    with ApacheKafka(folder / "kafka", properties=properties) as kafka:
        ours = broker_under_test(folder / "ours", properties=properties | CLEANER)
        ours.start()
        try:
            yield _run(kafka.address, ours.address)
        finally:
            ours.stop()


CLEANER = {"log.cleaner.dedupe.buffer.size": "4194304"}  # as tests/support/kafka.py sets it


def _run(kafka: str, ours: str) -> Answers:
    import asyncio

    return asyncio.run(_ask_both(kafka, ours))


async def _ask_both(kafka: str, ours: str) -> Answers:
    found = {}
    async with await _connect(kafka) as theirs, await _connect(ours) as mine:
        for step in STEPS.values():
            answer = comparable(await mine.send(step.request, step.version))
            try:
                reference = comparable(await theirs.send(step.request, step.version))
            except TimeoutError:
                raise AssertionError(f"Kafka does not answer {step}") from None
            until = time.monotonic() + DEADLINE_S
            while step.reads and reference != answer and step.name not in DIFFERENT and time.monotonic() < until:
                reference = comparable(await theirs.send(step.request, step.version))
            found[step.name] = (reference, answer)
    return found


async def _connect(address: str) -> RawClient:
    host, _, port = address.rpartition(":")
    return await RawClient.connect(host, int(port))


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_both_answer_alike(answers: Answers, step: Step) -> None:
    reference, answer = answers[step.name]
    if step.name in DIFFERENT:
        take_out, theirs, mine = DIFFERENT[step.name]
        assert (take_out(reference), take_out(answer)) == (theirs, mine)
    assert answer == reference
