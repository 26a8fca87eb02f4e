"""The broker of the fixture `kafka_proc`, as a process of its own."""

import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import confluent_kafka.admin
import pytest
from stepdown.testing.process import RunningProcess
from support.deadline import DEADLINE_S, MOMENT_S
from support.process_end import ending


@pytest.mark.parametrize("security", ["SSL", "SASL_SSL"])
def test_the_test_and_its_clients_come_in_at_each_listener(security: str) -> None:
    with RunningProcess(security=security, users={"bob": 'it\'s a "secret": \\'}) as kafka:
        producer = confluent_kafka.Producer(kafka.clients.confluent_kafka())
        producer.produce("t", b"x")
        assert producer.flush(DEADLINE_S) == 0
        kafka.assert_produces("t", "x")


def test_what_it_does_is_not_told_among_the_lines_of_the_tests(capfd: pytest.CaptureFixture[str]) -> None:
    """Each member that left a group was a line between pytest's dots."""
    with RunningProcess(config={"group.initial.rebalance.delay.ms": 0}) as kafka:
        kafka.create_topic("t")
        settings = kafka.clients.confluent_kafka() | {"group.id": "shop"}
        member = confluent_kafka.Consumer(settings)
        member.subscribe(["t"])
        while not member.assignment():
            member.poll(0.02)
        member.close()
    assert " [info] " not in capfd.readouterr().err


def test_nobody_else_does() -> None:
    with RunningProcess(security="SASL_PLAINTEXT") as kafka:
        settings = kafka.clients.confluent_kafka() | {"sasl.password": "wrong"}
        admin = confluent_kafka.admin.AdminClient(settings)
        with pytest.raises(confluent_kafka.KafkaException):
            admin.list_topics(timeout=MOMENT_S)
        with pytest.raises(confluent_kafka.KafkaException):
            confluent_kafka.admin.AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=MOMENT_S)


def test_one_that_does_not_start_says_why(capfd: pytest.CaptureFixture[str]) -> None:
    """It said that its log is on stderr, which is not where the failure is shown."""
    with pytest.raises(RuntimeError, match=r"did not start.*\n.*num\.prtitions"):
        RunningProcess(config={"num.prtitions": 1}).__enter__()
    assert "num.prtitions" in capfd.readouterr().err


@pytest.mark.parametrize("said, oldest_fetch", [("", 4), ("2.8", 0)])
def test_the_variable_names_the_release_where_the_test_does_not(
    said: str, oldest_fetch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPDOWN_ACT_AS", "4.4")
    with RunningProcess(act_as=said) as kafka, socket.create_connection(tuple(kafka.bootstrap.split(":"))) as client:
        client.sendall(bytes([0, 0, 0, 12, 0, 18, 0, 0, 0, 0, 0, 7, 0, 2, *b"me"]))
        answer = client.recv(1 << 16)
    assert (1, oldest_fetch) in [struct.unpack_from(">hh", answer, at) for at in range(14, len(answer) - 5, 6)]


OWNER = """
import sys, time
from stepdown.testing.process import RunningProcess
brokers = RunningProcess(security=sys.argv[1])
kafka = brokers.__enter__()
print(brokers._process.pid, kafka.bootstrap, flush=True)
time.sleep(3600)
"""


@pytest.mark.parametrize("security", ["PLAINTEXT", "SSL", "SASL_SSL"])
def test_it_ends_with_the_tests_though_they_are_killed(security: str, tmp_path: Path) -> None:
    """It stayed, with its ports, when pytest was killed: nobody told it to stop. Later its certificates stayed."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    owner = [sys.executable, "-c", OWNER, security]
    with subprocess.Popen(owner, env=environment, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        pid, bootstrap = tests.stdout.readline().split()
        with ending(int(pid)):
            tests.send_signal(signal.SIGKILL)
    assert list(tmp_path.iterdir()) == []
    host, _, port = bootstrap.rpartition(":")
    with socket.socket() as free:
        free.bind((host, int(port)))
