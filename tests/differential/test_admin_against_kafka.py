"""The same admin requests, byte for byte, to Kafka 3.9.1 and to stepdown: the answers have to say the same.

Left out of the comparison: messages, addresses, ids, paths, sizes of disks, counts of metadata writes, times, and order
where it means nothing. docs/compatibility.md lists the intended differences; `DIFFERENT` asserts that they are there.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest
from stepdown.protocol.schema import schema_of
from support.admin_steps import steps
from support.broker import broker_under_test
from support.client import RawClient
from support.kafka import ApacheKafka
from support.steps import Step

pytestmark = pytest.mark.java

STEPS = {step.name: step for step in steps()}
CATCH_UP_S = 5.0  # Kafka answers from an image that follows what its controller has done
UNCOMPARED = frozenset(
    (
        "error_message",
        "host",
        "port",
        "cluster_id",
        "log_dir",
        "total_bytes",
        "usable_bytes",
        "documentation",
        "finalized_features_epoch",
        "high_watermark",
        "log_end_offset",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
        "api_keys",
        "is_default",  # v0: Kafka since 3.0 says false of everything
        "synonyms",  # of the second and third name: see config/describe_configs.py
    )
)
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
            until = time.monotonic() + CATCH_UP_S
            while step.reads and reference != answer and step.name not in DIFFERENT and time.monotonic() < until:
                reference = comparable(await theirs.send(step.request, step.version))
            found[step.name] = (reference, answer)
    return found


async def _connect(address: str) -> RawClient:
    host, _, port = address.rpartition(":")
    return await RawClient.connect(host, int(port))


def comparable(value: Any) -> Any:
    """The value as plain dicts and lists; lists are ordered by content unless they hold numbers."""
    if hasattr(type(value), "__schema__"):
        names = (field.name for field in schema_of(type(value)).fields if field.name not in UNCOMPARED)
        return {name: comparable(getattr(value, name)) for name in names}
    if isinstance(value, list | tuple):
        items = [comparable(item) for item in value]
        return items if all(isinstance(item, int) for item in items) else sorted(items, key=_text)
    if isinstance(value, UUID):
        return "an id" if value.int else "no id"
    return value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_both_answer_alike(answers: Answers, step: Step) -> None:
    reference, answer = answers[step.name]
    if step.name in DIFFERENT:
        take_out, theirs, mine = DIFFERENT[step.name]
        assert (take_out(reference), take_out(answer)) == (theirs, mine)
    assert answer == reference
