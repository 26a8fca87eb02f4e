"""A broker that cannot start leaves its directories as it found them."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.running import running_broker

CLEAN_MARK = ".kafka_cleanshutdown"


@pytest.fixture
def taken() -> Iterator[str]:
    """An address of this machine that somebody else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield f"127.0.0.1:{other.getsockname()[1]}"


@pytest.mark.parametrize("setting", ["listeners", "stepdown_http_listen"])
async def test_a_taken_address_is_named_and_the_logs_stay_clean(tmp_path: Path, taken: str, setting: str) -> None:
    async with running_broker(tmp_path):
        pass
    assert (tmp_path / CLEAN_MARK).exists()

    value = f"PLAINTEXT://{taken}" if setting == "listeners" else taken
    with pytest.raises(OSError, match=f"cannot listen on {taken}: Address already in use"):
        async with running_broker(tmp_path, **{setting: value}):
            pass

    assert (tmp_path / CLEAN_MARK).exists()
    async with running_broker(tmp_path) as broker:
        assert broker.is_ready
