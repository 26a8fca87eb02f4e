"""A broker that acts as a release of Kafka answers a probe as a real broker of that release does.

`tests/vectors/act_as/` has what the real ones answered; a test marked `slow` asks them again.
"""

import asyncio

import pytest
import stepdown
from stepdown.broker.handlers import SERVED
from stepdown.protocol.api import ApiKey
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.kafka_releases import api_key_of
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.brokers import batch_of
from support.client import RawClient
from support.release_probe import BROKERS, Transcript, ask_real_broker, probe, recorded

NOT_IN_FORCE = {"transaction.version", "share.version", "streams.version"}
"""Features of Kafka 4 that are not here, so clients must not use them."""
Both = tuple[Transcript, Transcript]


@pytest.fixture(scope="module", params=BROKERS)
def both(request: pytest.FixtureRequest) -> Both:
    """What the release answered, and what a broker answers that acts as it."""
    with stepdown.running(act_as=request.param) as kafka:
        ours = asyncio.run(probe(kafka.bootstrap, request.param))
    return recorded(request.param), ours


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("release", BROKERS)
def test_what_was_recorded_is_what_the_real_broker_answers(release: str) -> None:
    assert ask_real_broker(release) == recorded(release)


def test_every_version_that_is_offered_is_offered_there_and_each_newest_one_that_is_known(both: Both) -> None:
    """A test's broker offered versions that the cluster to come refuses."""
    theirs, ours = both
    expected = {}
    for name, text in theirs.versions.items():
        first, _, last = text.partition("-")
        if (key := api_key_of(name)) in SERVED:
            expected[name] = f"{first}-{min(int(last), SERVED[ApiKey(key)].last)}"
    assert ours.versions == expected


def test_each_version_beside_those_is_refused_alike_and_each_end_is_answered_alike(both: Both) -> None:
    """A test's broker answered what the cluster to come closes the connection for."""
    theirs, ours = both
    served = {name: codes for name, codes in theirs.answers.items() if _is_served(name)}
    assert {name: ours.answers[name] for name in served} == served


def test_a_version_of_api_versions_that_there_is_not_is_refused_alike(both: Both) -> None:
    theirs, ours = both
    if "ApiVersions" in theirs.refused_version["versions"]:
        theirs.refused_version["versions"]["ApiVersions"] = ours.versions["ApiVersions"]  # v5 is not known here
    assert ours.refused_version == theirs.refused_version


async def test_records_of_magic_2_are_damaged_for_a_release_that_does_not_know_them() -> None:
    """Clients whose batches Kafka 0.10.2 refuses as damaged passed every test."""
    codes = {}
    for release in ("0.10.2", "1.1"):
        with stepdown.running(act_as=release) as kafka:
            kafka.create_topic("t")
            host, _, port = kafka.bootstrap.rpartition(":")
            request = ProduceRequest(
                acks=-1,
                timeout_ms=1000,
                topic_data=[
                    TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch_of("x"))])
                ],
            )
            async with await RawClient.connect(host, int(port)) as client:
                answer = await client.send(request, 2)
            codes[release] = answer.responses[0].partition_responses[0].error_code
    assert codes == {"0.10.2": ErrorCode.CORRUPT_MESSAGE, "1.1": ErrorCode.NONE}


def test_features_are_told_alike(both: Both) -> None:
    theirs, ours = both
    for told in theirs.features.values():
        for name in NOT_IN_FORCE & told["finalized"].keys():
            del told["finalized"][name]
    assert ours.features == theirs.features


def _is_served(request: str) -> bool:
    name, _, _ = request.rpartition(" ")
    return api_key_of(name) in SERVED


@pytest.mark.parametrize("brokers", [1, 3])
def test_a_tests_own_helpers_work_with_every_release(brokers: int) -> None:
    """Helpers of a test spoke in the versions that the brokers of the test refuse."""
    for release in BROKERS:
        with stepdown.running(act_as=release, brokers=brokers) as kafka:
            kafka.create_topic("t")
            kafka.produce("t", b"x")
            assert [record.value for record in kafka.records("t")] == [b"x"]
            assert not kafka.group("g").members
            kafka.reset()
