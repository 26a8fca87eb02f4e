import pytest
from stepdown.config.similar_names import edit_distance, nearest
from stepdown.config.tables.all_keys import BROKER_KEYS


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("log.dirz", "log.dirs"),
        ("log_dirs", "log.dirs"),
        ("Log.Dirs", "log.dirs"),
        ("log.retention.hour", "log.retention.hours"),
        ("lisetners", "listeners"),
        ("listene", "listeners"),  # two changes were too many for seven letters
        ("num.partition", "num.partitions"),
        ("auto.create.topic.enable", "auto.create.topics.enable"),
        ("stepdown.downconversion.chunk.byte", "stepdown.downconversion.chunk.bytes"),
    ],
)
def test_a_typo_finds_the_key_that_was_meant(typed: str, meant: str) -> None:
    assert nearest(typed, BROKER_KEYS) == meant


@pytest.mark.parametrize("name", ["home", "port", "service.host", "cluster.id", "brokers", "x"])
def test_a_name_that_is_near_nothing_finds_nothing(name: str) -> None:
    assert nearest(name, BROKER_KEYS) is None


@pytest.mark.parametrize(
    ("one", "other", "changes"), [("", "abc", 3), ("abc", "abc", 0), ("abcd", "abdc", 1), ("kitten", "sitting", 3)]
)
def test_swapped_neighbours_count_as_one_change(one: str, other: str, changes: int) -> None:
    assert edit_distance(one, other) == edit_distance(other, one) == changes
