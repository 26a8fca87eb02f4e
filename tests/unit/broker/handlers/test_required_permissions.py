"""Who may ask for an API is declared in the row that serves it."""

from typing import Any

import pytest
from stepdown.broker.handlers import SERVED
from stepdown.broker.handlers.required_permissions import ON_CLUSTER, check_write_txn_markers
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.primitives import Primitive
from stepdown.protocol.schema import schema_of

OPEN = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
"""What anybody may ask for, as it comes before authentication."""


def test_only_what_comes_before_authentication_is_open() -> None:
    is_open = {key for key, api in SERVED.items() if not (api.rule.whole or api.rule.items or api.rule.asks)}
    assert is_open == OPEN


@pytest.mark.parametrize("key", [key for key, api in SERVED.items() if api.rule.items], ids=lambda key: key.name)
def test_items_are_fields_of_the_messages(key: ApiKey) -> None:
    items = SERVED[key].rule.items
    assert items is not None
    assert items.field in {field.name for field in schema_of(API[key].request).fields}
    assert items.answers in {field.name for field in schema_of(API[key].response).fields}


def tells_of_topics(message: type[Any]) -> bool:
    """Whether a message has names of topics."""
    for field in schema_of(message).fields:
        is_name = "topic" in field.name or (field.name == "name" and "Topic" in message.__name__)
        if is_name and Primitive.STRING in (field.kind, field.item):
            return True
        if field.element is not None and tells_of_topics(field.element):
            return True
    return False


@pytest.mark.parametrize(
    "key", [key for key in SERVED if tells_of_topics(API[key].request) or tells_of_topics(API[key].response)]
)
def test_what_has_names_of_topics_asks_for_a_right_on_topics(key: ApiKey) -> None:
    """ConsumerGroupHeartbeat and ConsumerGroupDescribe asked for rights on the group alone, and told clients of topics
    that they may not see.
    """
    rule = SERVED[key].rule
    on_cluster = (*ON_CLUSTER.values(), check_write_txn_markers)
    assert (
        any(check in on_cluster for check in rule.whole)
        or (rule.items is not None and "topic" in rule.items.field)
        or "topic" in rule.asks
    )
