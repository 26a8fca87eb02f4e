"""The benchmark of compaction: its model, and a small run of it."""

import json

import pytest
from stepdown.bench.cases.cleaning import CleaningTest
from stepdown.bench.failures import BenchFailure
from support.command import run_command


def test_every_update_visits_every_key_once_in_another_order() -> None:
    pairs = [pair for batch in CleaningTest(keys=2500, updates=3).batches() for pair in batch]
    rounds = [[key for key, _ in pairs[first : first + 2500]] for first in range(0, 7500, 2500)]
    assert len({tuple(keys) for keys in rounds}) == 3
    assert {tuple(sorted(keys)) for keys in rounds} == {tuple(b"%012d" % key for key in range(2500))}


def test_only_the_last_update_is_expected_to_stay() -> None:
    test = CleaningTest(keys=3, updates=2, value_bytes=10)
    values = [value for batch in test.batches() for _, value in batch]
    assert [test.is_last(value) for value in values] == [False] * 3 + [True] * 3


@pytest.mark.parametrize("wrong", [{"updates": 6}, {"keys": 7919}])
def test_what_the_model_cannot_tell_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(BenchFailure):
        CleaningTest(**wrong)


def test_a_small_topic_is_cleaned_to_its_model() -> None:
    done = run_command("bench", "cleaning", "--keys", 600, "--seconds", 0.2, "--warm-up", 0.1, "--json")
    assert done.exit_code == 0, done.stderr
    values = json.loads(done.stdout.splitlines()[0])["values"]
    assert (values["left_records"], values["wrong_records"]) == (601, 0)
    assert values["left_bytes"] < values["log_bytes"] / 3


def test_starts_are_measured_with_a_topic_a_partition() -> None:
    done = run_command(
        "bench", "start", "--partitions", "0,20", "--topic-partitions", 1, "--empty", "--rounds", 1, "--json"
    )
    assert done.exit_code == 0, done.stderr
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["case"]["partitions"] for each in rounds if each["kind"] == "median"] == [0, 20]
    assert "rss_a_partition_kib" in rounds[-1]["values"]
