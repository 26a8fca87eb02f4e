"""One broker per test module, behind a proxy that writes down which versions the clients send."""

from collections.abc import Iterator

import pytest
from support.broker import BrokerProcess, broker_under_test
from support.proxy import RecordingProxy


@pytest.fixture(scope="module")
def proxy() -> Iterator[RecordingProxy]:
    proxy = RecordingProxy()
    yield proxy
    proxy.close()


@pytest.fixture(scope="module")
def broker(proxy: RecordingProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A running broker that sends its clients to the proxy."""
    broker = broker_under_test(tmp_path_factory.mktemp("broker"), advertised=proxy.address)
    broker.start()
    proxy.forward_to(broker.address)
    yield broker
    broker.stop()
