"""Kafka could not listen: another test had chosen its port, too, before either listened there."""

import socket
import subprocess
import sys

from stepdown.bench.servers.ports import PORTS, PORTS_A_PROCESS, free_port

CHOOSE = "from stepdown.bench.servers.ports import free_port; print(*[free_port() for _ in range(3)])"


def test_processes_choose_from_ports_of_their_own() -> None:
    ours = free_port()
    done = subprocess.run([sys.executable, "-c", CHOOSE], capture_output=True, text=True, check=True)
    chosen = [int(port) for port in done.stdout.split()]
    assert len(set(chosen)) == 3
    assert {port // PORTS_A_PROCESS for port in chosen} & {ours // PORTS_A_PROCESS} == set()
    assert all(port in PORTS for port in chosen)


def test_a_port_that_somebody_has_is_passed_over() -> None:
    with socket.create_server(("127.0.0.1", free_port())) as server:
        taken = server.getsockname()[1]
        assert taken not in [free_port() for _ in range(PORTS_A_PROCESS)]
