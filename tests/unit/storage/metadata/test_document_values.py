"""Values of a document that are not what they should be are named by their place; what may be a secret is not shown."""

from uuid import UUID

import pytest
from stepdown.storage.metadata.document_values import (
    MalformedDocument,
    read_list,
    read_mapping,
    read_uuid,
    read_whole_number,
)


@pytest.mark.parametrize("read", [read_list, read_mapping])
def test_a_wrong_value_is_named_by_its_place_and_not_shown(read) -> None:
    with pytest.raises(MalformedDocument, match=r"^users: .* expected, found str$"):
        read("secret", "users")


@pytest.mark.parametrize("value", [True, "1", 1.0, None, [1]])
def test_what_is_no_whole_number_is_refused(value: object) -> None:
    with pytest.raises(MalformedDocument, match=r"^made_ms: a whole number expected"):
        read_whole_number(value, "made_ms")


def test_right_values_come_back() -> None:
    assert read_list([1], "x") == [1]
    assert read_mapping({"a": 1}, "x") == {"a": 1}
    assert read_whole_number(-1, "x") == -1
    assert read_uuid("AAAAAAAAAAAAAAAAAAAAAQ", "x") == UUID(int=1)
    with pytest.raises(MalformedDocument, match=r"^x: not a base64url UUID"):
        read_uuid("?", "x")
