"""One host name for each broker: TLS says which one a client means."""

import asyncio
import ssl
from pathlib import Path

import pytest
from stepdown.config import ConfigError, HostPort
from stepdown.gateway.addresses.broker_names import BrokerNames
from stepdown.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from stepdown.protocol.messages.metadata import MetadataRequest
from support.brokers import running_cluster
from support.certificates import Authority
from support.client import RawClient
from support.gateway import gateway_to, started

PATTERN = "broker-{id}.kafka.example"


@pytest.mark.parametrize(
    ("name", "broker"),
    [
        *(("broker-7.kafka.example", 7), ("BROKER-70.Kafka.Example", 70), ("kafka.example", None), ("", None)),
        *(("broker-.kafka.example", None), ("broker-7xkafka.example", None), ("broker-٧.kafka.example", None)),
        ("broker-99999999999999999999.kafka.example", None),
    ],
)
def test_a_name_is_that_of_a_broker(name: str, broker: int | None) -> None:
    names = BrokerNames(PATTERN, lambda: HostPort("gateway", 9), lambda broker, address: None)
    assert names.broker_of(name) == broker


def test_a_name_may_end_in_a_dot() -> None:
    """A client that sent the whole name of a broker, with the dot of the root, reached any broker."""
    names = BrokerNames(PATTERN, lambda: HostPort("gateway", 9), lambda broker, address: None)
    assert names.broker_of("broker-7.kafka.example.") == 7


async def named(port: int, context: ssl.SSLContext, name: str) -> RawClient:
    """A client of the gateway that asks for a host name."""
    return RawClient(*await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name), "raw")


async def test_a_client_reaches_the_broker_whose_name_it_asks_for(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = {"security_protocol": "SSL", "ssl_keystore_type": "PEM", "ssl_keystore_location": authority.issue("gateway")}
    context = ssl.create_default_context(cafile=str(authority.file))
    context.check_hostname = False
    async with (
        running_cluster(tmp_path / "cluster") as cluster,
        started(gateway_to(cluster.bootstrap, addresses="sni", broker_host=PATTERN, **tls)) as gateway,
    ):
        port = gateway.address.port
        async with await RawClient.connect("127.0.0.1", port, ssl=context) as client:
            answer = await client.send(MetadataRequest(topics=()), 9)
            found = {each.node_id: (each.host, each.port) for each in answer.brokers}
            assert found == {node: (PATTERN.replace("{id}", str(node)), port) for node in (1, 2, 3)}
        for node in (1, 2, 3):
            async with await named(port, context, found[node][0]) as client:
                own = DescribeConfigsResource(resource_type=4, resource_name=str(node), configuration_keys=("node.id",))
                (result,) = (await client.send(DescribeConfigsRequest(resources=(own,)), 1)).results
                assert (result.error_code, result.configs[0].value) == (0, str(node))
        async with await named(port, context, "broker-9.kafka.example") as client:
            await client.send_raw(client.frame(MetadataRequest(topics=()), 1))
            assert await client.read_frame() is None
        assert gateway.metrics.upstream_failures.rows() == [(("unknown",), 1.0)]  # not a row for each name asked for


def test_names_need_tls_and_a_place_for_the_id() -> None:
    with pytest.raises(ConfigError) as fault:
        gateway_to("127.0.0.1:1", addresses="sni", broker_host="kafka.example")
    assert "expected a host name with {id} in it" in str(fault.value)
    assert "sni needs security.protocol SSL or SASL_SSL" in str(fault.value)


@pytest.mark.parametrize(
    "name", ["broker-{id}", "broker-{id}.kafka.example.", "192.0.2.{id}", "::{id}", "{id}..example"]
)
def test_names_are_those_that_clients_send(name: str) -> None:
    """Java sends no name without a dot, and none that ends in one: each of its clients reached any broker."""
    with pytest.raises(ConfigError) as fault:
        gateway_to("127.0.0.1:1", addresses="sni", broker_host=name, security_protocol="SSL")
    assert "expected a name with dots in it and none at its end" in str(fault.value)


def test_the_advertised_host_is_no_name_of_a_broker() -> None:
    """Clients that came to the bootstrap port reached one broker alone, and nobody while that was away."""
    with pytest.raises(ConfigError) as fault:
        host = PATTERN.replace("{id}", "1")
        gateway_to("127.0.0.1:1", addresses="sni", broker_host=PATTERN, advertised_host=host, security_protocol="SSL")
    assert "expected another host than those of brokers" in str(fault.value)
