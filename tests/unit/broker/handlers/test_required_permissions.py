"""Who may ask for an API is declared for each: one that nobody has thought about is not served."""

import pytest
from stepdown.broker.dispatch.dispatcher import Dispatcher
from stepdown.broker.handlers import SERVED
from stepdown.broker.handlers.required_permissions import RULES
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.schema import schema_of

OPEN = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
"""What anybody may ask for, as it comes before authentication."""


def test_every_api_that_is_served_has_a_rule() -> None:
    assert SERVED.keys() <= RULES.keys()


def test_a_broker_with_a_handler_that_has_no_rule_does_not_start(broker) -> None:
    rules = {key: rule for key, rule in RULES.items() if key is not ApiKey.END_TXN}
    with pytest.raises(LookupError, match="END_TXN"):
        Dispatcher(broker, SERVED, rules)


def test_only_what_comes_before_authentication_is_open() -> None:
    is_open = {key for key, rule in RULES.items() if not (rule.whole or rule.items or rule.asks)}
    assert is_open == OPEN


@pytest.mark.parametrize("key", [key for key, rule in RULES.items() if rule.items], ids=lambda key: key.name)
def test_items_are_fields_of_the_messages(key: ApiKey) -> None:
    items = RULES[key].items
    assert items is not None
    assert items.field in {field.name for field in schema_of(API[key].request).fields}
    assert items.answers in {field.name for field in schema_of(API[key].response).fields}
