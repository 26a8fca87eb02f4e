"""stepdown.page.password guards all that names users, addresses or records, on the HTTP port of broker and gateway."""

from base64 import b64encode
from pathlib import Path

import pytest
from stepdown.config import HostPort
from stepdown.network.page.page_site import API, FILES
from support.gateway import running_gateway
from support.http_page import get
from support.running import running_broker

OPEN = ("/metrics", "/healthz", "/readyz")
GUARDED = ("/clients", *FILES, *(API + view for view in ("overview", "clients", "records", "faults", "nothing")))
LOGIN = {"Authorization": "Basic " + b64encode(b"me:secret").decode()}


async def check(address: HostPort | None) -> None:
    for path in OPEN:
        assert (await get(address, path)).status == 200, path
    for path in GUARDED:
        assert (await get(address, path)).status == 401, path
        assert (await get(address, path, LOGIN)).status != 401, path


@pytest.mark.parametrize("enabled", ["true", "false"])
async def test_the_password_is_asked_for_at_all_paths_of_a_broker(tmp_path: Path, enabled: str) -> None:
    """/clients was answered without the password to whoever came through a proxy on the same machine."""
    settings = {"stepdown_page_password": "secret", "stepdown_page_enabled": enabled}
    async with running_broker(tmp_path, connection_failed_authentication_delay_ms=0, **settings) as broker:
        if enabled == "true":
            await check(broker.http_address)
        else:
            assert (await get(broker.http_address, "/clients")).status == 401
            assert (await get(broker.http_address, "/clients", LOGIN)).status == 200


async def test_the_password_is_asked_for_at_all_paths_of_a_gateway(tmp_path: Path) -> None:
    async with running_gateway(tmp_path, stepdown_page_password="secret") as stage:
        await check(stage.gateway.http_address)
