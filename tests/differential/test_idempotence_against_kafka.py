"""Sequence numbers, epochs and transaction markers: random histories answered by Kafka 3.9.1's log and by ours."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from stepdown.protocol.errors import ApiError
from stepdown.protocol.records.builder import build_control_marker
from stepdown.protocol.records.layout import ControlType
from stepdown.storage.files.files import Files
from stepdown.storage.log.delayed_deletion import PendingDeletions
from stepdown.storage.log.log_config import LogConfig
from stepdown.storage.recovery.log_loading import LogOpening, open_log
from stepdown.storage.validation.append_rules import AppendRules
from stepdown.storage.validation.prepared_append import AppendOrigin
from stepdown.storage.validation.record_sets import prepare
from support.clock import ManualClock
from support.java_oracle import JavaOracle
from support.kafka_log import Attempt, Refused, append_to_kafka
from support.record_sets import NOW, record_set, records

pytestmark = pytest.mark.java

STEPS = 150
LAST_SEQUENCE = (1 << 31) - 1


def _marker(chance: random.Random, producer: int, epoch: int) -> Attempt:
    data = build_control_marker(
        chance.choice([ControlType.COMMIT, ControlType.ABORT]),
        offset=0,
        producer_id=producer,
        producer_epoch=epoch,
        coordinator_epoch=chance.choice([0, 0, 0, 1]),
        timestamp=NOW,
    )
    return Attempt(records=data, now_ms=NOW, origin=AppendOrigin.COORDINATOR)


def _history(seed: int) -> list[Attempt]:
    """Mostly what honest producers send; now and then a repetition, a gap, another epoch, a stray flag."""
    chance = random.Random(seed)
    sent: list[Attempt] = []
    following = {producer: chance.choice([0, 0, LAST_SEQUENCE - 3]) for producer in range(3)}
    epochs = dict.fromkeys(range(3), 0)
    for _ in range(STEPS):
        producer = chance.randrange(3)
        what = chance.random()
        if what < 0.2 and sent:
            sent.append(chance.choice(sent[-20:]))
            continue
        if what < 0.3:
            sent.append(_marker(chance, producer, epochs[producer] + chance.choice([0, 0, 1])))
            continue
        if what < 0.35:
            epochs[producer] += 1
            following[producer] = 0
        count = chance.randint(1, 4)
        epoch = max(-1, epochs[producer] + (chance.choice([-1, 1]) if what > 0.95 else 0))
        sequence = following[producer] if what < 0.9 else chance.choice([0, 1, following[producer] + 1, LAST_SEQUENCE])
        data = record_set(
            2,
            content=records(*[NOW - chance.randrange(9)] * count),
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=sequence & LAST_SEQUENCE,
            transactional=chance.random() < 0.3,
        )
        following[producer] = (following[producer] + count) & LAST_SEQUENCE
        sent.append(Attempt(records=data, now_ms=NOW))
    return sent


@pytest.mark.parametrize("seed", range(16))
def test_a_history_gets_the_same_answers(java_oracle: Callable[..., JavaOracle], tmp_path: Path, seed: int) -> None:
    attempts = _history(seed)
    theirs, their_log = append_to_kafka(java_oracle("append"), {}, attempts)
    files, clock = Files(), ManualClock(NOW)
    opening = LogOpening(files=files, clock=clock, deletions=PendingDeletions(files))
    log = open_log(str(tmp_path), "topic", 0, LogConfig(), opening)
    refusals = 0
    for step, (attempt, expected) in enumerate(zip(attempts, theirs, strict=True)):
        prepared = prepare(memoryview(attempt.records), AppendRules(), now_ms=NOW, origin=AppendOrigin(attempt.origin))
        try:
            info = log.append(prepared, leader_epoch=attempt.leader_epoch)
        except ApiError as error:
            refusals += 1
            assert isinstance(expected, Refused), f"step {step}: Kafka takes it: {expected}, {error!r}"
            assert error.code == expected.code, f"step {step}: {expected}, {error!r}"
            continue
        assert not isinstance(expected, Refused), f"step {step}: Kafka refuses it: {expected}"
        assert (info.first_offset, info.last_offset) == (expected.first_offset, expected.last_offset), f"step {step}"
        assert info.log_append_time_ms == expected.log_append_time_ms, f"step {step}"
    assert 0 < refusals < STEPS
    assert (tmp_path / "00000000000000000000.log").read_bytes() == their_log
