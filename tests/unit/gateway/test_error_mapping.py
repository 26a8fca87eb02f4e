"""Codes that a client's generation does not know become ones that it knows."""

import pytest
from stepdown.gateway.error_mapping import OLDEST, UNKNOWN_TO_0_8, V0_8, map_error_code, map_errors
from stepdown.network.turn import Turns
from stepdown.protocol.api import ApiKey
from stepdown.protocol.errors import ErrorCode, code_of
from stepdown.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

MEMBER_FAULTS = {79, 82, 110, 113}
"""Of which a member hears UNKNOWN_MEMBER_ID, and joins again."""


@pytest.mark.parametrize("key", sorted(OLDEST), ids=lambda key: ApiKey(key).name)
def test_every_code_becomes_one_that_is_known_and_as_retriable(key: int) -> None:
    for version, highest in enumerate(OLDEST[key]):
        for code in map(int, ErrorCode):
            known = map_error_code(key, version, code)
            if code in MEMBER_FAULTS and OLDEST[key][version] < code:
                continue
            assert known <= highest or known == ErrorCode.UNSUPPORTED_VERSION
            if highest == V0_8 and key in (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS):
                assert known not in UNKNOWN_TO_0_8
            if known != code:
                assert code_of(known).retriable == code_of(code).retriable or known == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    ("key", "version", "code", "known"),
    [
        (ApiKey.PRODUCE, 0, 56, 6),
        (ApiKey.PRODUCE, 2, 87, -1),
        (ApiKey.PRODUCE, 0, 2, 2),
        (ApiKey.PRODUCE, 1, 89, 7),
        (ApiKey.FETCH, 0, 9, 6),
        (ApiKey.FETCH, 1, 9, 9),
        (ApiKey.FETCH, 3, 78, 5),
        (ApiKey.LIST_OFFSETS, 0, 74, 6),
        (ApiKey.OFFSET_COMMIT, 0, 16, 16),
        (ApiKey.OFFSET_COMMIT, 1, 82, 25),
        (ApiKey.OFFSET_FETCH, 0, 88, 15),
        (ApiKey.JOIN_GROUP, 0, 79, 25),
        (ApiKey.CREATE_TOPICS, 0, 44, -1),
        (ApiKey.CREATE_TOPICS, 1, 44, 44),
        (ApiKey.CREATE_TOPICS, 1, 89, 7),
        (ApiKey.DESCRIBE_CONFIGS, 0, 100, 3),
    ],
)
def test_codes_become(key: ApiKey, version: int, code: int, known: int) -> None:
    assert map_error_code(key, version, code) == known


async def test_each_code_of_a_response_is_mapped_and_the_rest_is_kept() -> None:
    answers = [PartitionProduceResponse(index=n, error_code=n, base_offset=7) for n in range(3)]
    response = ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=answers)])
    turn = Turns().begin()
    mapped = await map_errors(response, lambda code: 9 if code == 1 else code, turn)
    assert [each.error_code for each in mapped.responses[0].partition_responses] == [0, 9, 2]
    assert await map_errors(response, lambda code: code, turn) is response
