"""The client report's verdict of real clients is what running them against Kafka 4 shows.

`client_trials.py` says of each whether Kafka 4 answers it. The slow test proves that list by running them against
4.0.0 and 4.4.0; the others hold the report to the list.
"""

from collections.abc import Iterator, Sequence
from http.client import HTTPConnection
from json import loads
from pathlib import Path

import pytest
from stepdown.network.clients.client_row import ClientRow, read_row
from support.broker import Stepdown, broker_under_test
from support.client_trials import (
    JAVA_TRIALS,
    MORE_JAVA_TRIALS,
    OTHER_TRIALS,
    PYTHON_TRIALS,
    TRIALS,
    Trial,
    find_differences,
    find_faults,
)
from support.clients_go import require_go
from support.kafka_4 import LATEST, ApacheKafka4
from support.maven import require_java
from support.old_packages import require_node
from support.release_probe import BROKERS

LINE = "4.4"


@pytest.fixture(scope="module")
def stepdown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stepdown]:
    broker = broker_under_test(tmp_path_factory.mktemp("stepdown"))
    if not isinstance(broker, Stepdown):
        pytest.skip("the report is stepdown's")
    with broker:
        yield broker


def rows_of(server: Stepdown, trial: Trial) -> list[ClientRow]:
    connection = HTTPConnection(server.http)
    connection.request("GET", "/clients")
    document = loads(connection.getresponse().read())
    connection.close()
    return [row for row in map(read_row, document["clients"]) if row.client_id == trial.client_id]


def check_verdict(server: Stepdown, trial: Trial) -> None:
    server.create_topic(trial.topic)
    trial.run(server.address, trial.topic)
    rows = rows_of(server, trial)
    assert {word for row in rows for word in row.kafka_4.values()} == {"yes" if trial.works else "no"}, rows
    assert all(bool(row.mend) == (not trial.works) for row in rows)


@pytest.mark.parametrize("trial", PYTHON_TRIALS, ids=lambda trial: trial.name)
def test_python_clients_are_judged_right(stepdown: Stepdown, trial: Trial) -> None:
    check_verdict(stepdown, trial)


@pytest.mark.java
@pytest.mark.parametrize(
    "trial",
    [*JAVA_TRIALS, *(pytest.param(trial, marks=pytest.mark.slow) for trial in MORE_JAVA_TRIALS)],
    ids=lambda trial: trial.name,
)
def test_java_clients_are_judged_right(stepdown: Stepdown, trial: Trial) -> None:
    check_verdict(stepdown, trial)


@pytest.mark.slow
@pytest.mark.parametrize("trial", OTHER_TRIALS, ids=lambda trial: trial.name)
def test_pinned_packages_and_clients_in_go_and_javascript_are_judged_right(stepdown: Stepdown, trial: Trial) -> None:
    check_verdict(stepdown, trial)


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parametrize("release", ["4.0.0", LATEST])
def test_what_is_said_of_each_client_is_what_kafka_4_shows(release: str, tmp_path: Path) -> None:
    require_java()
    require_go()
    require_node()
    with ApacheKafka4(tmp_path, release=release) as kafka:
        for trial in TRIALS:
            kafka.create_topic(trial.topic)
        assert find_differences(kafka.address, TRIALS) == []


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parametrize("release", BROKERS)
def test_each_client_fares_with_a_broker_that_acts_as_a_release_as_with_that_release(
    release: str, tmp_path: Path
) -> None:
    """Clients that Kafka 4 leaves behind passed every test."""
    require_java()
    require_go()
    require_node()
    topics = {trial: trial.topic for trial in TRIALS}
    with BROKERS[release](tmp_path / "kafka") as kafka:
        for topic in topics.values():
            kafka.create_topic(topic)
        theirs = find_faults(kafka.address, topics)
    with acting_as(release, tmp_path / "stepdown", TRIALS) as server:
        ours = find_faults(server.address, topics)
    works = sum(fault is None for fault in theirs.values())
    print(f"{release}: {works} of {len(topics)} clients come to their end with Kafka")
    assert [
        f"{trial.name}: {theirs[trial] or 'works'} with Kafka, {ours[trial] or 'works'} here"
        for trial in topics
        if (theirs[trial] is None) != (ours[trial] is None)
    ] == []


def test_a_client_that_kafka_4_leaves_behind_fails_with_a_broker_that_acts_as_4_4(tmp_path: Path) -> None:
    left_behind = next(trial for trial in PYTHON_TRIALS if not trial.works)
    works = next(trial for trial in PYTHON_TRIALS if trial.works)
    with acting_as(LINE, tmp_path, [left_behind, works]) as server:
        assert find_differences(server.address, [left_behind, works]) == []


def acting_as(release: str, folder: Path, trials: Sequence[Trial]) -> Stepdown:
    """A broker with the topics of the trials; not started."""
    topics = ",".join(trial.topic for trial in trials)
    return Stepdown(folder, properties={"stepdown.act.as": release, "stepdown.topics": topics})
