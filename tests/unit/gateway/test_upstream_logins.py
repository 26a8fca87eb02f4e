"""Which login to the cluster a client has, where the gateway logs in for all."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from stepdown.config import ConfigError, Given, Origin
from stepdown.gateway.settings import make_settings
from stepdown.gateway.upstream_logins import find_login, parse_clients
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.metadata import MetadataRequest
from support.certificates import Authority
from support.client import RawClient
from support.gateway import gateway_to, started
from support.sasl_client import log_in
from support.secure import PASSWORD, SWAP, USER, secure_broker, secure_settings, set_password

OWN = {
    "upstream.bootstrap.servers": "kafka-1:9092",
    "authentication": "swap",
    "upstream.security.protocol": "SASL_PLAINTEXT",
    "upstream.sasl.mechanism": "SCRAM-SHA-256",
    "upstream.sasl.username": USER,
    "upstream.sasl.password": PASSWORD,
}
LOGINS = {
    "logins.billing.clients": "User:billing, 10.1.0.0/16",
    "logins.billing.sasl.username": "b",
    "logins.billing.sasl.password": "secret",
    "logins.other.clients": "10.0.0.0/8,2001:db8::1",
    "logins.other.sasl.mechanism": "PLAIN",
    "logins.other.sasl.username": "o",
    "logins.other.sasl.password": "secret",
}


def given(settings: dict[str, str]) -> Sequence[Given]:
    return [Given(name, text, Origin("the test")) for name, text in settings.items()]


@pytest.mark.parametrize(
    ("principal", "address", "name"),
    [
        ("User:billing", "192.0.2.1", "billing"),
        ("User:ANONYMOUS", "10.1.2.3", "billing"),
        ("User:ANONYMOUS", "::ffff:10.1.2.3", "billing"),
        ("User:ANONYMOUS", "10.2.2.3", "other"),
        ("User:ANONYMOUS", "2001:db8::1", "other"),
        ("User:ANONYMOUS", "192.0.2.1", None),
        ("User:bill", "2001:db8::2", None),
    ],
)
def test_the_first_login_that_names_a_client_is_his(principal: str, address: str, name: str | None) -> None:
    login = find_login(make_settings(given(OWN | LOGINS)).logins, principal, address)
    assert (None if login is None else login.name) == name


@pytest.mark.parametrize(
    ("text", "principals", "networks"),
    [
        ("User:CN=a,O=Example, 10.0.0.0/8,User:b", {"User:CN=a,O=Example", "User:b"}, ["10.0.0.0/8"]),
        (r"User:O=One\, Two,CN=a,User:CN=b,C=DE", {r"User:O=One\, Two,CN=a", "User:CN=b,C=DE"}, []),
        (" , ", set(), []),
    ],
)
def test_a_name_of_a_certificate_has_commas(text: str, principals: set[str], networks: list[str]) -> None:
    """It was taken for several, and refused."""
    found = parse_clients(text)
    assert (found[0], list(map(str, found[1]))) == (principals, networks)


@pytest.mark.parametrize("text", ["User:a,O=b,10.0.0.0/33", "CN=a", "User:a,somewhere"])
def test_what_is_neither_principal_nor_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="does not appear to be an IPv4 or IPv6 network"):
        parse_clients(text)


def test_a_login_has_the_mechanism_of_the_gateways_own_unless_it_says_another() -> None:
    billing, other = make_settings(given(OWN | LOGINS)).logins
    assert (billing.sasl.mechanism, other.sasl.mechanism) == ("SCRAM-SHA-256", "PLAIN")
    assert "secret" not in repr(billing)


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"logins.a.clients": "somewhere", "logins.a.sasl.username": "a"}, "logins.a.clients"),
        ({"logins.a.sasl.username": "a", "logins.a.sasl.password": "b"}, "logins.a.clients"),
        ({"logins.a.clients": "10.0.0.1", "logins.a.sasl.usrname": "a"}, "logins.a.sasl.usrname"),
        ({"logins.a.clients": "10.0.0.1", "logins.a.sasl.username": "a"}, "logins.a.sasl.jaas.config"),
        ({**LOGINS, "authentication": "relay", "upstream.security.protocol": "PLAINTEXT"}, "logins.billing"),
    ],
)
def test_a_login_that_cannot_be_is_named(changed: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_settings(given(OWN | changed))
    assert any(problem.key.startswith(key) for problem in caught.value.problems), caught.value.report()


OTHER = {"logins_other_sasl_username": "bob", "logins_other_sasl_password": "other"}


async def test_the_cluster_sees_the_login_of_the_clients_address(tmp_path: Path) -> None:
    async with secure_broker(tmp_path / "log", secure_settings(Authority(tmp_path))) as broker:
        await set_password(broker, "bob", "other")
        upstream = str(broker.addresses["SASL_PLAINTEXT"])
        settings = {**SWAP, **OTHER, "logins_other_clients": "127.0.0.2"}
        async with started(gateway_to(upstream, **settings)) as gateway:
            for host in ("127.0.0.1", "127.0.0.2"):
                port = gateway.address.port
                async with await RawClient.connect("127.0.0.1", port, own_host=host, client_id=host) as client:
                    await client.send(MetadataRequest(topics=()), 1)
        rows = broker.clients.document()["clients"]
        seen = {row["client_id"]: row["principal"] for row in rows if row["client_id"].startswith("127")}
    assert seen == {"127.0.0.1": f"User:{USER}", "127.0.0.2": "User:bob"}


@pytest.mark.parametrize("asks_versions", [False, True])
@pytest.mark.parametrize("addresses", ["ports", "single"])
async def test_the_cluster_sees_the_login_of_the_clients_principal(
    tmp_path: Path, addresses: str, asks_versions: bool
) -> None:
    """Whoever asked for versions before it logged in, as clients since 0.10 do, had the gateway's own login."""
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    own = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_enabled_mechanisms": "PLAIN",
        "listener_name_gateway_plain_sasl_jaas_config": f'{jaas} user_old="one" user_new="two";',
        "logins_other_clients": "User:old",
        "addresses": addresses,
    }
    async with secure_broker(tmp_path / "log", secure_settings(Authority(tmp_path))) as broker:
        await set_password(broker, "bob", "other")
        async with started(gateway_to(str(broker.addresses["SASL_PLAINTEXT"]), **SWAP, **OTHER, **own)) as gateway:
            for user, password in (("old", "one"), ("new", "two")):
                async with await RawClient.connect("127.0.0.1", gateway.address.port, client_id=user) as client:
                    if asks_versions:
                        await client.send(ApiVersionsRequest(), 0)
                    assert (await log_in(client, "PLAIN", user, password)).error_code == 0
                    await client.send(MetadataRequest(topics=()), 1)
        rows = broker.clients.document()["clients"]
        seen = {row["client_id"]: row["principal"] for row in rows if row["client_id"] in ("old", "new")}
    assert seen == {"old": "User:bob", "new": f"User:{USER}"}
