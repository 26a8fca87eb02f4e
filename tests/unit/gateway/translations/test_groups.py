"""OffsetCommit 0 and OffsetFetch 0, whose group is at another broker than the client's."""

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from stepdown.client.errors import ClientError
from stepdown.gateway.translations.groups import translate_commit, translate_offset_fetch
from stepdown.gateway.translations.translated_call import TranslatedCall
from stepdown.network.turn import Turns
from stepdown.protocol.acls import AclOperation
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
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

MINE, FORBIDDEN, HIDDEN = "mine", "forbidden", "hidden"
COMMIT = OffsetCommitRequest(
    group_id="g",
    topics=[
        OffsetCommitRequestTopic(
            name=name,
            partitions=[OffsetCommitRequestPartition(partition_index=index, committed_offset=5) for index in (0, 1)],
        )
        for name in (MINE, FORBIDDEN, HIDDEN)
    ],
)
FETCH = OffsetFetchRequest(
    group_id="g",
    topics=[OffsetFetchRequestTopic(name=name, partition_indexes=[0, 1]) for name in (MINE, FORBIDDEN, HIDDEN)],
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
TO_THE_CLIENT = {
    MINE: ErrorCode.NOT_COORDINATOR,
    FORBIDDEN: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    HIDDEN: ErrorCode.NOT_COORDINATOR,
}
TO_THE_GATEWAY = dict.fromkeys(TO_THE_CLIENT, ErrorCode.NONE)
REFUSED = [ErrorCode.TOPIC_AUTHORIZATION_FAILED] * 2
READ_AND_DESCRIBE = 1 << AclOperation.READ | 1 << AclOperation.DESCRIBE


def described(request: MetadataRequest, operations: int) -> MetadataResponse:
    """`operations`: what the client may do with what it may see."""
    assert not request.allow_auto_topic_creation
    return MetadataResponse(
        brokers=(),
        topics=[
            MetadataResponseTopic(
                error_code=0 if topic.name == MINE else ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                name=topic.name,
                partitions=(),
                topic_authorized_operations=operations if topic.name == MINE else -(2**31),
            )
            for topic in request.topics or ()
        ],
    )


def call_of(
    request: Any, answer: Any, asked: list[Any], *, fails: bool = False, operations: int = READ_AND_DESCRIBE
) -> TranslatedCall:
    """The client's own login may touch `MINE` alone, which the broker does not say of `HIDDEN`, as it is not the
    group's coordinator; the login of the gateway may touch everything."""

    async def ask(request: Any, version: int, **_: Any) -> Any:
        if isinstance(request, MetadataRequest):
            return described(request, operations)
        return answer(request, TO_THE_CLIENT)

    async def ask_coordinator(group: str, request: Any, version: int) -> Any:
        asked.append(request)
        if fails:
            raise ClientError("no coordinator")
        return answer(request, TO_THE_GATEWAY)

    unused: dict[str, Any] = dict.fromkeys(
        ("clock", "held", "workers", "count_loss", "note_refused_fetch", "count_records", "is_there"), Mock()
    )
    return TranslatedCall(
        key=8,
        version=0,
        sent_as=1,
        request=request,
        turn=Turns().begin(),
        ask_upstream=ask,
        ask_coordinator=ask_coordinator,
        **unused,
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
    assert codes(response) == {MINE: [0, 0], FORBIDDEN: REFUSED, HIDDEN: REFUSED}


@pytest.mark.parametrize(("way", "lacking"), [("commit", AclOperation.READ), ("fetch", AclOperation.DESCRIBE)])
async def test_what_the_client_may_not_do_with_a_topic_is_not_done_for_it(way: str, lacking: AclOperation) -> None:
    """A broker that is not the coordinator was believed to have looked at the topics: OffsetFetch 0 showed offsets and
    metadata of topics that the client may not see.
    """
    translate, request, answer = WAYS[way]
    asked: list[Any] = []
    response = await translate(call_of(request, answer, asked, operations=READ_AND_DESCRIBE & ~(1 << lacking)))
    assert asked == []
    assert codes(response) == {MINE: REFUSED, FORBIDDEN: REFUSED, HIDDEN: REFUSED}


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_asked_of_the_coordinator_that_has_an_answer(way: str) -> None:
    translate, request, answer = WAYS[way]
    asked: list[Any] = []
    only_forbidden = replace(request, topics=request.topics[1:2])
    await translate(call_of(only_forbidden, answer, asked))
    assert asked == []


@pytest.mark.parametrize("way", WAYS)
async def test_without_a_coordinator_the_client_has_its_own_answer(way: str) -> None:
    translate, request, answer = WAYS[way]
    response = await translate(call_of(request, answer, [], fails=True))
    assert codes(response) == {MINE: [ErrorCode.NOT_COORDINATOR] * 2, FORBIDDEN: REFUSED, HIDDEN: REFUSED}
