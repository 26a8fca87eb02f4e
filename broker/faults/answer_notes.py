"""What the log tells of an answer beside its error codes: what a person would ask next."""

from typing import Any

from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.list_offsets import ListOffsetsResponse

MOST_OFFSETS = 3
NO_LOGIN = "this listener asks for no login: @pytest.mark.kafka(security=…), or a client without SASL"
NO_CONSUMER_PROTOCOL = "KIP-848 is off here: act_as='4.0', or group.coordinator.rebalance.protocols=classic,consumer"
NOTES = {
    (ApiKey.SASL_HANDSHAKE, ErrorCode.ILLEGAL_SASL_STATE): NO_LOGIN,
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.UNSUPPORTED_VERSION): NO_CONSUMER_PROTOCOL,
}


def describe_answer(key: ApiKey, response: Any | None) -> str:
    """A note on a response, "" where its error codes tell all."""
    if isinstance(response, ListOffsetsResponse):
        return _describe_offsets(response)
    return NOTES.get((key, getattr(response, "error_code", ErrorCode.NONE)), "")


def _describe_offsets(response: ListOffsetsResponse) -> str:
    found = [
        f"{topic.name}-{each.partition_index} at {(each.old_style_offsets or [each.offset])[0]}"
        for topic in response.topics
        for each in topic.partitions
        if not each.error_code
    ]
    return ", ".join([*found[:MOST_OFFSETS], "…"] if len(found) > MOST_OFFSETS else found)
