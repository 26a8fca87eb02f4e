"""What a connection of the broker held is free when it has ended; see the gateway's test of that name."""

import ssl
from pathlib import Path

import pytest
from stepdown.protocol.messages.metadata import MetadataRequest
from support.certificates import Authority
from support.client import RawClient
from support.cyclic_garbage import no_cycles_left
from support.running import until
from support.sasl_client import log_in
from support.secure import secure_broker, secure_settings


@pytest.mark.lengthy
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
async def test_of_clients_that_log_in(tmp_path: Path, listener: str, mechanism: str) -> None:
    authority = Authority(tmp_path)
    async with secure_broker(tmp_path / "log", secure_settings(authority)) as broker, no_cycles_left():
        address = broker.addresses[listener]
        tls = ssl.create_default_context(cafile=authority.file) if listener == "SASL_SSL" else None
        async with await RawClient.connect("127.0.0.1", address.port, ssl=tls) as client:
            await log_in(client, mechanism)
            await client.send(MetadataRequest(topics=()), 1)
        del client
        await until(lambda: not broker.connections)
