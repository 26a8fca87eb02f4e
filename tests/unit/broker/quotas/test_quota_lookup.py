"""Which quota counts, and who shares it."""

import pytest
from stepdown.broker.quotas.quota_lookup import AddressQuotas, QuotaTable

KEY = "producer_byte_rate"
ORDER = (
    ((("client-id", "c"), ("user", "u")), ("u", "c")),
    ((("client-id", None), ("user", "u")), ("u", "c")),
    ((("user", "u"),), ("u", "")),
    ((("client-id", "c"), ("user", None)), ("u", "c")),
    ((("client-id", None), ("user", None)), ("u", "c")),
    ((("user", None),), ("u", "")),
    ((("client-id", "c"),), ("", "c")),
    ((("client-id", None),), ("", "c")),
)


@pytest.mark.parametrize("first", range(len(ORDER)), ids=lambda first: str(ORDER[first][0]))
def test_the_first_that_is_set_counts(first: int) -> None:
    quotas = {names: {KEY: float(at + 1)} for at, (names, _) in enumerate(ORDER) if at >= first}
    found = QuotaTable(quotas, KEY).find("u", "c")
    assert found == (ORDER[first][1], first + 1)


def test_nobody_else_has_it() -> None:
    quotas = {names: {KEY: 1.0} for names, _ in ORDER if all(name is not None for _, name in names)}
    assert QuotaTable(quotas, KEY).find("other", "client") is None


def test_quotas_of_another_key_do_not_count() -> None:
    table = QuotaTable({(("user", "u"),): {"consumer_byte_rate": 1.0}}, KEY)
    assert not table
    assert table.find("u", "c") is None


def test_an_address_has_its_own_or_that_of_all() -> None:
    quotas = {
        (("ip", None),): {"connection_creation_rate": 5.0},
        (("ip", "10.0.0.1"),): {"connection_creation_rate": 2.0},
    }
    table = AddressQuotas(quotas, "connection_creation_rate")
    assert (table.of_address("10.0.0.1"), table.of_address("10.0.0.2")) == (2.0, 5.0)


@pytest.mark.parametrize("address", ["::1", "0:0:0:0:0:0:0:1", "0::0001"])
def test_the_quota_of_an_address_holds_however_it_is_written(address: str) -> None:
    """A quota for `::1` held only for clients whose address was written in the same way."""
    rate = "connection_creation_rate"
    table = AddressQuotas({(("ip", "::1"),): {rate: 5.0}, (("ip", None),): {rate: 9.0}}, rate)
    assert table.of_address(address) == 5.0
    assert table.of_address("::2") == 9.0
