"""What a failed test shows of clients that come to nothing: the reason, not thirty lines of it."""

import socket
from contextlib import suppress

import pytest
from stepdown.broker.faults.event_log import OtherEvent, time_line
from stepdown.testing import Kafka, running
from support.deadline import DEADLINE_S


def _last_lines(kafka: Kafka) -> list[str]:
    return list(kafka.control.ask("GET", "events/last")["lines"])


def test_lines_that_alternate_are_counted() -> None:
    """A client that tried again and again with two requests was thirty lines."""
    names = ["begin", *["handshake", "versions"] * 20, "handshake", "end"]
    lines = time_line(OtherEvent(at_ms=0, line=name) for name in names)
    assert [line.partition(" s  ")[2] for line in lines] == [
        "begin",
        "handshake (20 times)",
        "versions (20 times)",
        "handshake",
        "end",
    ]


def test_a_login_at_a_listener_without_one_is_explained() -> None:
    """ILLEGAL_SASL_STATE said nothing of the listener."""
    confluent = pytest.importorskip("confluent_kafka")
    with running() as kafka:
        settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
        login = {"sasl.username": "alice", "sasl.password": "secret"}
        producer = confluent.Producer({"bootstrap.servers": kafka.bootstrap, **settings, **login})
        while not kafka.requests.of("SaslHandshake"):
            producer.poll(0.02)
        told = "ILLEGAL_SASL_STATE (this listener asks for no login: @pytest.mark.kafka(security=…)"
        while not any(told in line for line in _last_lines(kafka)):
            producer.poll(0.02)


def test_a_client_with_tls_is_there() -> None:
    """Nothing was shown at all where a client spoke TLS at a listener in plaintext."""
    with running() as kafka:
        host, port = kafka.bootstrap.split(":")
        with socket.create_connection((host, int(port))) as client, suppress(ConnectionError):
            client.sendall(bytes.fromhex("160301020001000001fc0303") + bytes(500))
            while client.recv(1000):
                pass
        assert any("TLS comes where a frame begins, and is not spoken here" in line for line in _last_lines(kafka))


def test_a_clock_that_stands_is_told_last() -> None:
    """It was said where it was stopped, if at all: many lines above the request that waited."""
    with running() as kafka:
        kafka.clock.pause()
        assert _last_lines(kafka)[-1].startswith("The clock stands: what waits for time to pass")
        kafka.clock.resume()
        assert not _last_lines(kafka)[-1].startswith("The clock stands")


def test_the_offset_that_was_answered_is_shown() -> None:
    """ListOffsets was "ok", whatever offset the consumer began at."""
    with running(topics={"orders": 1}) as kafka:
        kafka.produce("orders", "x", "y")
        confluent = pytest.importorskip("confluent_kafka")
        consumer = confluent.Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g"})
        assert consumer.get_watermark_offsets(confluent.TopicPartition("orders", 0), timeout=DEADLINE_S) == (0, 2)
        consumer.close()
        lines = [request.line for request in kafka.requests.of("ListOffsets")]
        assert any(line.endswith("ok (orders-0 at 2)") for line in lines), lines


def test_a_group_of_the_new_protocol_is_told_what_it_needs() -> None:
    """UNSUPPORTED_VERSION said nothing of act_as."""
    with running(topics={"orders": 1}) as kafka:
        confluent = pytest.importorskip("confluent_kafka")
        settings = {"bootstrap.servers": kafka.bootstrap, "group.id": "g", "group.protocol": "consumer"}
        consumer = confluent.Consumer(settings)
        consumer.subscribe(["orders"])
        while not any("KIP-848 is off here: act_as='4.0'" in line for line in _last_lines(kafka)):
            with suppress(confluent.KafkaException):
                consumer.poll(0.02)
        consumer.close()
