"""Whatever was written, aborted, cleaned and broken off in between: what remains is what the model says."""

from pathlib import Path

import pytest
from support.compacted_history import History, latest

STEPS = 120


@pytest.mark.parametrize("seed", range(40))
def test_what_remains_of_any_history_equals_the_model(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, seed)
    for number in range(STEPS):
        history.step()
        if number % 10 == 0:
            check(history)
    history.clean()
    check(history)


def check(history: History) -> None:
    unstable = history.log.first_unstable_offset
    end = history.log.log_end_offset if unstable is None else unstable
    stable = {offset: each for offset, each in history.written.items() if offset < end}
    visible = history.visible()
    assert latest(visible) == latest(stable)
    assert all(stable[offset] == each for offset, each in visible.items())
    clean_end = history.checkpoint or 0
    keys = [key for offset, (key, _, _) in sorted(visible.items()) if offset < clean_end]
    assert len(keys) == len(set(keys))
    assert {offset for offset in stable if offset >= history.untouched_from} <= visible.keys()
    check_producers(history)


def check_producers(history: History) -> None:
    known = history.log.producers.state.producers
    for producer in history.producers.values():
        if producer.sequence:
            assert known[producer.producer_id].last_sequence == producer.sequence - 1
            begun = min(producer.open, default=-1)
            assert known[producer.producer_id].transaction_first_offset == begun


@pytest.mark.parametrize("seed", range(5))
def test_producers_are_known_from_the_cleaned_log_alone(tmp_path: Path, seed: int) -> None:
    """Without snapshots only the log can tell; its last batch of each producer stays for that."""
    history = History(tmp_path, seed)
    for _ in range(STEPS):
        history.step()
    history.clean()
    history.log.close()
    for snapshot in tmp_path.glob("*.snapshot"):
        snapshot.unlink()
    history.log = history._open(clean=False)
    history.log.note_high_watermark(history.log.log_end_offset)
    check_producers(history)
