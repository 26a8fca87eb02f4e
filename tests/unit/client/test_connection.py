import socket
import threading
from collections.abc import Iterator

import pytest
from stepdown.client.connection import Connection, parse_address
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.messages.metadata import MetadataRequest
from support.deadline import MOMENT_S

API_VERSIONS_V0 = bytes.fromhex("00000010 00000001 0000 00000001 0003 0001 0007")  # Metadata v1 to v7

REFUSED_VERSION = bytes.fromhex("0000000a 00000001 0023 00000000")


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def answer_once(listening: socket.socket, data: bytes) -> None:
    """Whoever connects is answered with `data`, whatever it asks, and then hung up on."""

    def serve() -> None:
        accepted, _ = listening.accept()
        with accepted:
            accepted.recv(65_536)
            accepted.sendall(data)

    threading.Thread(target=serve, daemon=True).start()


def test_the_newest_version_is_one_that_both_sides_speak(listening: socket.socket) -> None:
    answer_once(listening, API_VERSIONS_V0)
    with Connection(client_id="me").connect(listening.getsockname()) as connection:
        assert connection.agree_on_versions() == 0
        metadata = API[ApiKey.METADATA]
        assert (connection.newest_version(metadata), connection.newest_version(metadata, 5)) == (7, 5)
        assert connection.newest_version(API[ApiKey.FETCH]) == -1
        assert connection.answer_bytes == 16


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", ConnectionResetError),
        (API_VERSIONS_V0[:10], ConnectionResetError),
        (b"\x00\x00\x00\x10" + b"\x00\x00\x00\x09" + API_VERSIONS_V0[8:], MalformedFrame),
        (b"HTTP/1.1 400 Bad Request\r\n", MalformedFrame),
    ],
    ids=["nothing", "half of it", "of another request", "not Kafka"],
)
def test_what_is_no_answer_is_an_error(listening: socket.socket, data: bytes, fault: type[Exception]) -> None:
    answer_once(listening, data)
    with Connection(client_id="me").connect(listening.getsockname()) as connection, pytest.raises(fault):
        connection.agree_on_versions()


def test_a_silent_broker_is_given_up_in_time(listening: socket.socket) -> None:
    silent = Connection(client_id="me", timeout_s=MOMENT_S).connect(listening.getsockname())
    with silent, pytest.raises(TimeoutError):
        silent.exchange(MetadataRequest(topics=()), 1)


@pytest.mark.parametrize("text", ["here", "here:", ":9092", "here:there"])
def test_an_address_needs_host_and_port(text: str) -> None:
    with pytest.raises(ValueError, match="expected HOST:PORT"):
        parse_address(text)
    assert parse_address("[::1]:9092") == ("::1", 9092)


def test_software_is_named_to_brokers_that_take_it(listening: socket.socket) -> None:
    """A command was a guess in the report of clients, beside its producer, which named itself."""
    asked: list[tuple[int, bool]] = []

    def serve() -> None:
        accepted, _ = listening.accept()
        with accepted:
            for answer in (REFUSED_VERSION, API_VERSIONS_V0[:7] + b"\2" + API_VERSIONS_V0[8:]):
                frame = accepted.recv(65_536)
                asked.append((frame[7], b"stepdown" in frame))
                accepted.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with Connection(client_id="me").connect(listening.getsockname()) as connection:
        assert connection.agree_on_versions(named=True) == 0
        assert connection.newest_version(API[ApiKey.METADATA]) == 7
    thread.join()
    assert asked == [(3, True), (0, False)]
