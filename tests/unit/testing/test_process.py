"""The broker of the fixture `kafka_proc`, as a process of its own."""

import confluent_kafka.admin
import pytest
from stepdown.testing.process import RunningProcess
from support.deadline import DEADLINE_S, MOMENT_S


@pytest.mark.parametrize("security", ["SSL", "SASL_SSL"])
def test_the_test_and_its_clients_come_in_at_each_listener(security: str) -> None:
    with RunningProcess(security=security, users={"bob": 'it\'s a "secret": \\'}) as kafka:
        producer = confluent_kafka.Producer(kafka.clients.confluent_kafka())
        producer.produce("t", b"x")
        assert producer.flush(DEADLINE_S) == 0
        kafka.assert_produces("t", "x")


def test_nobody_else_does() -> None:
    with RunningProcess(security="SASL_PLAINTEXT") as kafka:
        settings = kafka.clients.confluent_kafka() | {"sasl.password": "wrong"}
        admin = confluent_kafka.admin.AdminClient(settings)
        with pytest.raises(confluent_kafka.KafkaException):
            admin.list_topics(timeout=MOMENT_S)
        with pytest.raises(confluent_kafka.KafkaException):
            confluent_kafka.admin.AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=MOMENT_S)
