"""Real clients through each secured listener: TLS, PLAIN and both SCRAM mechanisms."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.producer import AuthenticationFailed, Producer
from support.certificates import Authority
from support.secure import PASSWORD, USER, secure_broker, secure_settings

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
async def broker(tmp_path: Path, authority: Authority) -> AsyncIterator[Broker]:
    async with secure_broker(tmp_path / "data", secure_settings(authority)) as broker:
        yield broker


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_our_producer_logs_in(broker: Broker, authority: Authority, protocol: str, mechanism: str) -> None:
    settings = {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.username": USER,
        "sasl.password": PASSWORD,
        "ssl.truststore.location": str(authority.file),
    }
    address = str(broker.addresses[protocol])
    async with Producer(address, **settings) as producer:
        assert (await producer.send("t", b"x" * 100_000, partition=0)).offset == 0
    async with Producer(address, **settings | {"sasl.password": "wrong"}) as producer:
        with pytest.raises(AuthenticationFailed):
            await producer.send("t", b"x")
