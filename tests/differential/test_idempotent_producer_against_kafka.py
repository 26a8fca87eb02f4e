"""Random scripts for the idempotent producer and for Kafka 3.9.1's: the same on the wire, the same end of each record.

Both get the same answers, codes and broken connections, whether a broker would give them or not. They are compared up
to the first step in which ours does what docs/producer.md names as a difference.
"""

import random
from collections import Counter
from collections.abc import Callable

import pytest
from stepdown.protocol.errors import ErrorCode
from support.idempotent_script import Advance, Append, Reply, Step, play, play_with_java
from support.java_oracle import JavaOracle

pytestmark = pytest.mark.java

SCRIPTS_A_TEST = 100
HOW = (
    "lose",
    "lose answer",
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.INVALID_RECORD,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
)
EQUAL = {
    *[f"record-{what}-{kind}" for what in ("send", "retry", "error") for kind in ("rate", "total")],
    *["batch-split-rate", "batch-split-total", "buffer-exhausted-rate", "buffer-exhausted-total"],
    *["record-size-avg", "record-size-max", "record-queue-time-avg", "record-queue-time-max", "waiting-threads"],
    *["bufferpool-wait-ratio", "bufferpool-wait-time-ns-total", "buffer-total-bytes", "buffer-available-bytes"],
}
NEARLY = {"batch-size-avg", "batch-size-max", "compression-rate-avg"}
"""Two implementations of gzip differ in a few bytes."""


def script(draws: random.Random) -> list[Step]:
    steps: list[Step] = []
    trouble = draws.choice([0.05, 0.2, 0.6])
    for _ in range(draws.randrange(3, 30)):
        fate, partition = draws.random(), draws.randrange(2)
        if fate < 0.4:
            together = draws.random() < 0.3
            steps.append(Append(partition, draws.randrange(1, 12 if together else 6), together))
        elif fate < 0.97:
            how = draws.choice(HOW) if draws.random() < trouble else draws.choice(["split", "rules", "rules"])
            steps.append(Reply(partition, draws.choice([0, 0, 0, 0, 0, 1, 1, 2]), how))
        else:
            steps.append(Advance(draws.choice([10, 3000, 11_000])))
    return steps


@pytest.mark.parametrize("part", range(4))
async def test_the_same_goes_over_the_wire_and_ends_the_same(java_oracle: Callable[..., JavaOracle], part: int) -> None:
    oracle, counts = java_oracle("sender"), Counter[str]()
    for seed in range(part * SCRIPTS_A_TEST, (part + 1) * SCRIPTS_A_TEST):
        ours = await play(script(random.Random(seed)))
        theirs, _ = play_with_java(oracle, ours)
        alike = len(ours.seen) if ours.differs_from is None else ours.differs_from
        for number, seen in enumerate(ours.seen[:alike]):
            assert seen == theirs[number], f"script {seed}, step {number}"
        counts["steps"] += alike
        counts["whole scripts"] += ours.differs_from is None
        counts["scripts with an epoch raised"] += any(sent.epoch for seen in ours.seen[:alike] for sent in seen.sent)
        counts["splits"] += ours.differs_from is None and ours.metrics["batch-split-total"] > 0
    assert counts["steps"] > 10 * SCRIPTS_A_TEST, counts
    assert counts["whole scripts"] > SCRIPTS_A_TEST // 8, counts
    assert min(counts["scripts with an epoch raised"], counts["splits"]) > 2, counts


async def test_metrics_are_the_same_where_scripts_are(java_oracle: Callable[..., JavaOracle]) -> None:
    oracle, compared = java_oracle("sender"), Counter[str]()
    for seed in range(1000, 1200):
        ours = await play(script(random.Random(seed)))
        if ours.differs_from is not None:
            continue
        _, theirs = play_with_java(oracle, ours)
        for name in EQUAL | NEARLY:
            expected = pytest.approx(theirs[name], rel=1e-5 if name in EQUAL else 0.02, abs=1e-6, nan_ok=True)
            assert ours.metrics[name] == expected, f"script {seed}: {name}"
        compared.update(name for name, value in theirs.items() if value > 0)
    assert min(compared[f"{name}-total"] for name in ("record-send", "record-retry", "record-error", "batch-split")) > 2
