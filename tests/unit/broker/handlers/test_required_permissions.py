"""Who may ask for an API is declared in the row that serves it."""

import pytest
from stepdown.broker.handlers import SERVED
from stepdown.protocol.api import API, ApiKey
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
