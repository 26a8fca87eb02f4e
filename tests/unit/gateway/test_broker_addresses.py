"""The addresses of brokers in answers."""

import pytest
from stepdown.config import HostPort
from stepdown.gateway.broker_addresses import rewrite_addresses
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import encode_response
from stepdown.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker, MetadataResponseTopic

METADATA = API[ApiKey.METADATA]
TOP_LEVEL_ERROR_FROM = 13
"""Of Kafka 4; the code stands at the end, before the tagged fields."""


def metadata_body(version: int, host: str, port: int) -> bytes:
    brokers = [
        MetadataResponseBroker(node_id=number, host=host, port=port + number, rack="a" if version else None)
        for number in (3, 70_000)
    ]
    topics = [MetadataResponseTopic(error_code=3, name="orders")]
    response = MetadataResponse(brokers=brokers, topics=topics)
    known = min(version, METADATA.max_version)
    body = b"".join(map(bytes, encode_response(METADATA, known, 0, response)))[8:]  # type: ignore[arg-type]
    return body if version < TOP_LEVEL_ERROR_FROM else body[:-1] + b"\0\x1d" + body[-1:]


@pytest.mark.parametrize("version", range(14))
def test_metadata_names_the_gateway_and_keeps_all_else(version: int) -> None:
    asked = []

    def translate(broker: int, address: HostPort) -> HostPort:
        asked.append((broker, address))
        return HostPort("gateway.example", 9100 + broker)

    rewritten = rewrite_addresses(ApiKey.METADATA, version, metadata_body(version, "kafka", 1000), translate)
    assert b"".join(rewritten) == metadata_body(version, "gateway.example", 9100)
    assert asked == [(3, HostPort("kafka", 1003)), (70_000, HostPort("kafka", 71_000))]
