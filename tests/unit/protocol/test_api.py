import subprocess
import sys

import pytest
from stepdown.protocol.api import API, ApiKey, UnsupportedApi, is_flexible_version, spec_of, spec_of_request
from stepdown.protocol.messages.fetch import FetchRequest
from stepdown.protocol.schema import schema_of


@pytest.mark.parametrize("spec", API.values(), ids=lambda spec: spec.name)
def test_the_table_agrees_with_the_messages(spec):
    for cls in (spec.request, spec.response):
        schema = schema_of(cls)
        assert (schema.versions.first, schema.versions.last) == (spec.min_version, spec.max_version)
        for version in range(spec.min_version, spec.max_version + 1):
            assert (version in schema.flexible) == spec.is_flexible(version)


def test_names_and_keys_are_those_of_kafka():
    assert API[ApiKey.LIST_OFFSETS].name == "ListOffsets"
    for key, spec in API.items():
        assert key.name == "".join(f"_{char}" if char.isupper() else char for char in spec.name).upper().lstrip("_")


def test_deprecated_versions_are_those_counted_by_kafka():
    assert list(API[ApiKey.PRODUCE].deprecated) == [0, 1, 2, 3, 4, 5, 6]
    assert API[ApiKey.FETCH].is_deprecated(3)
    assert not API[ApiKey.FETCH].is_deprecated(4)
    assert not API[ApiKey.HEARTBEAT].is_deprecated(0)


def test_an_api_that_was_never_flexible_is_not():
    assert not is_flexible_version(ApiKey.SASL_HANDSHAKE, 1)
    assert is_flexible_version(ApiKey.FETCH, 12)
    assert not is_flexible_version(ApiKey.FETCH, 11)


def test_an_unknown_key_is_refused_by_number():
    with pytest.raises(UnsupportedApi, match="API key 88"):
        spec_of(88)


def test_a_request_value_knows_its_api():
    assert spec_of_request(FetchRequest()) is API[ApiKey.FETCH]


def test_no_message_is_imported_before_it_is_asked_for():
    program = (
        "import sys, stepdown.protocol.frame\n"
        "print([name for name in sys.modules if name.startswith('stepdown.protocol.messages.')])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
