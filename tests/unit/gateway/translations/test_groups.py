"""OffsetCommit 0 and OffsetFetch 0, whose group is at another broker than the client's."""

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from stepdown.client.errors import ClientError
from stepdown.gateway.translations.groups import translate_commit, translate_offset_fetch
from stepdown.gateway.translations.translated_call import TranslatedCall
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from stepdown.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

MINE, FORBIDDEN = "mine", "forbidden"
COMMIT = OffsetCommitRequest(
    group_id="g",
    topics=[
        OffsetCommitRequestTopic(
            name=name,
            partitions=[OffsetCommitRequestPartition(partition_index=index, committed_offset=5) for index in (0, 1)],
        )
        for name in (MINE, FORBIDDEN)
    ],
)
FETCH = OffsetFetchRequest(
    group_id="g", topics=[OffsetFetchRequestTopic(name=name, partition_indexes=[0, 1]) for name in (MINE, FORBIDDEN)]
)


def committed(request: OffsetCommitRequest, codes: dict[str, int]) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=codes[topic.name])
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def fetched(request: OffsetFetchRequest, codes: dict[str, int]) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=index, committed_offset=5, metadata="", error_code=codes[topic.name]
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )


WAYS = {"commit": (translate_commit, COMMIT, committed), "fetch": (translate_offset_fetch, FETCH, fetched)}
TO_THE_CLIENT = {MINE: ErrorCode.NOT_COORDINATOR, FORBIDDEN: ErrorCode.TOPIC_AUTHORIZATION_FAILED}
TO_THE_GATEWAY = {MINE: ErrorCode.NONE, FORBIDDEN: ErrorCode.NONE}


def call_of(request: Any, answer: Any, asked: list[Any], *, fails: bool = False) -> TranslatedCall:
    """The client's own login may not touch `FORBIDDEN`, that of the gateway may touch everything."""

    async def ask(request: Any, version: int, **_: Any) -> Any:
        return answer(request, TO_THE_CLIENT)

    async def ask_coordinator(group: str, request: Any, version: int) -> Any:
        asked.append(request)
        if fails:
            raise ClientError("no coordinator")
        return answer(request, TO_THE_GATEWAY)

    unused: dict[str, Any] = dict.fromkeys(("clock", "memory", "workers", "lose", "count_records", "is_there"), Mock())
    return TranslatedCall(
        key=8, version=0, sent_as=1, request=request, ask=ask, ask_coordinator=ask_coordinator, **unused
    )


def codes(response: Any) -> dict[str, list[int]]:
    return {topic.name: [each.error_code for each in topic.partitions] for topic in response.topics}


@pytest.mark.parametrize("way", WAYS)
async def test_the_gateways_login_does_nothing_that_the_client_may_not(way: str) -> None:
    """One topic that the client may touch had the gateway's login commit and read those that it may not."""
    translate, request, answer = WAYS[way]
    asked: list[Any] = []
    response = await translate(call_of(request, answer, asked))
    assert [[topic.name for topic in each.topics] for each in asked] == [[MINE]]
    forbidden = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert codes(response) == {MINE: [0, 0], FORBIDDEN: [forbidden, forbidden]}


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_asked_of_the_coordinator_that_has_an_answer(way: str) -> None:
    translate, request, answer = WAYS[way]
    asked: list[Any] = []
    only_forbidden = replace(request, topics=request.topics[1:])
    await translate(call_of(only_forbidden, answer, asked))
    assert asked == []


@pytest.mark.parametrize("way", WAYS)
async def test_without_a_coordinator_the_client_has_its_own_answer(way: str) -> None:
    translate, request, answer = WAYS[way]
    response = await translate(call_of(request, answer, [], fails=True))
    assert codes(response) == {name: [code, code] for name, code in TO_THE_CLIENT.items()}
