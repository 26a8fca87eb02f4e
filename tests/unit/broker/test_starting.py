"""A broker that cannot start leaves its directories as it found them."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepdown.broker.dispatch import dispatcher as dispatch
from stepdown.protocol.errors import DiskFault
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


async def test_a_broker_that_cannot_be_made_leaves_its_directory_to_the_next(tmp_path: Path) -> None:
    """It kept the lock: another one in this process, once the fault was mended, did not start."""
    async with running_broker(tmp_path):
        pass
    metadata = tmp_path / "stepdown-metadata.json"
    metadata.write_text("{")
    with pytest.raises(DiskFault, match=metadata.name):
        async with running_broker(tmp_path):
            pass
    metadata.unlink()
    async with running_broker(tmp_path) as broker:
        assert broker.is_ready


async def test_so_does_one_without_a_rule_for_an_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(dispatch.Dispatcher, "__init__", lambda *_: _raise_lookup_error())
        with pytest.raises(LookupError):
            async with running_broker(tmp_path):
                pass
    async with running_broker(tmp_path) as broker:
        assert broker.is_ready


def _raise_lookup_error() -> None:
    raise LookupError
