"""Settings of TLS that change while the broker runs."""

from pathlib import Path

import pytest
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from support.certificates import Authority
from support.client import RawClient
from support.secure import secure_broker, secure_settings

BROKER = 4


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("key", ["ssl.truststore.location", "ssl.keystore.location"])
async def test_files_that_cannot_be_used_are_refused(tmp_path: Path, key: str, validate_only: bool) -> None:
    """`ssl.client.auth=required` with a trust store that could not be read was answered 0, and nobody was asked for a
    certificate.
    """
    async with secure_broker(tmp_path / "data", secure_settings(Authority(tmp_path))) as broker:
        before = broker.settings.listener_security["SSL"]
        wanted = {"ssl.client.auth": "required", key: str(tmp_path / "nowhere.pem")}
        configs = [
            AlterableConfig(name=f"listener.name.ssl.{name}", config_operation=0, value=text)
            for name, text in wanted.items()
        ]
        resource = AlterConfigsResource(
            resource_type=BROKER, resource_name=str(broker.cluster.node_id), configs=configs
        )
        request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=validate_only)
        async with await RawClient.connect("127.0.0.1", broker.addresses["PLAINTEXT"].port) as client:
            (result,) = (await client.send(request, 1)).responses
        assert result.error_code == ErrorCode.INVALID_REQUEST
        assert f"{key}: " in result.error_message
        assert broker.settings.listener_security["SSL"] == before
