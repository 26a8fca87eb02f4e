"""Each handler's module says what it serves, and docs/compatibility.md says the same."""

import pytest
from stepdown.broker.handlers import SERVED
from stepdown.protocol.api import API, ApiKey
from support.api_pages import ABSENT, PAGE, page_with, sections, versions_in_docstring

SERVED_KEYS = sorted(SERVED)


@pytest.mark.parametrize("key", SERVED_KEYS, ids=lambda key: API[key].name)
def test_a_handler_claims_the_versions_it_is_given(key: ApiKey) -> None:
    assert versions_in_docstring(key) == (SERVED[key].first, SERVED[key].last)


@pytest.mark.parametrize("key", SERVED_KEYS, ids=lambda key: API[key].name)
def test_only_versions_that_can_be_read_are_served(key: ApiKey) -> None:
    assert API[key].min_version <= SERVED[key].first <= SERVED[key].last <= API[key].max_version


def test_nothing_is_both_served_and_absent() -> None:
    assert not SERVED.keys() & ABSENT.keys()


def test_the_page_on_compatibility_is_what_the_handlers_say() -> None:
    """If this fails, run `python tests/support/api_pages.py`."""
    text = PAGE.read_text()
    assert page_with(text, sections()) == text
