"""Long requests: cut into parts, and their answers joined again."""

import pytest
from stepdown.broker.dispatch.requests_in_parts import ITEMS_A_PART, PARTS
from stepdown.broker.handlers import SERVED
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.messages.delete_groups import DeleteGroupsRequest
from stepdown.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from support.hostile.generated import crowded, depth_of


def asking(*counts: int) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        topics=tuple(
            ListOffsetsTopic(
                name=f"t{topic}",
                partitions=tuple(ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(count)),
            )
            for topic, count in enumerate(counts)
        ),
    )


def answered(request: ListOffsetsRequest) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=tuple(
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=tuple(
                    ListOffsetsPartitionResponse(partition_index=each.partition_index) for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


@pytest.mark.parametrize("counts", [(3,), (0, 249, 1), (1000,), (5, 1000, 0, 7), (*[1] * 600,), (249, 250, 251)])
def test_the_answers_to_parts_make_the_answer_to_the_whole(counts: tuple[int, ...]) -> None:
    parts, request = PARTS[ApiKey.LIST_OFFSETS], asking(*counts)
    cut = list(parts.cut(request))
    assert all(sum(1 + len(topic.partitions) for topic in part.topics) <= ITEMS_A_PART for part, _ in cut)
    assert parts.joined([(answered(part), goes_on) for part, goes_on in cut]) == answered(request)


def test_a_request_of_one_part_is_not_long() -> None:
    assert not PARTS[ApiKey.LIST_OFFSETS].is_long(asking(ITEMS_A_PART - 1))
    assert PARTS[ApiKey.LIST_OFFSETS].is_long(asking(ITEMS_A_PART))


def test_what_is_named_again_is_answered_once() -> None:
    names = [f"g{number % 300}" for number in range(900)]
    cut = PARTS[ApiKey.DELETE_GROUPS].cut(DeleteGroupsRequest(groups_names=names))
    assert [name for part, _ in cut for name in part.groups_names] == names[:300]


@pytest.mark.parametrize("key", list(PARTS), ids=lambda key: key.name)
def test_what_is_cut_and_joined_exists(key: ApiKey) -> None:
    spec, version = API[key], SERVED[key].last
    for depth in range(depth_of(spec.request, version)):
        cut = list(PARTS[key].cut(crowded(spec.request, version, ITEMS_A_PART * 2, depth)))
        assert all(isinstance(part, spec.request) for part, _ in cut)
    assert hasattr(spec.response(), PARTS[key].answers)
