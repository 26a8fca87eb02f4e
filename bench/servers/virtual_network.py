"""What lies between a load and the servers that it is put on: loopback, or a pair of virtual Ethernet devices.

Containers have the latter: a server lives in a network namespace of its own, and what it sends passes two devices, a
checksum and a queue each. Loopback leaves most of that out.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..failures import BenchFailure

NETWORKS = ("loopback", "veth")


@dataclass(frozen=True, slots=True)
class Network:
    """`host` is where servers listen; `enter` goes before their commands."""

    host: str = "127.0.0.1"
    enter: tuple[str, ...] = ()


LOOPBACK = Network()


@contextmanager
def open_network(name: str) -> Iterator[Network]:
    """The network of that name, gone at the end. Raises: BenchFailure without the right to make it."""
    if name == "loopback":
        yield LOOPBACK
        return
    if name != "veth":
        raise BenchFailure(f"no network is called {name}; there is {', '.join(NETWORKS)}")
    space = f"stepdown-{os.getpid()}"
    near, far = f"sdn{os.getpid()}", f"sdf{os.getpid()}"
    net = f"10.213.{os.getpid() % 256}"
    _ip("netns", "add", space)
    try:
        _ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", space)
        _ip("addr", "add", f"{net}.1/24", "dev", near)
        _ip("link", "set", near, "up")
        _ip("-n", space, "addr", "add", f"{net}.2/24", "dev", far)
        _ip("-n", space, "link", "set", far, "up")
        _ip("-n", space, "link", "set", "lo", "up")
        yield Network(f"{net}.2", ("ip", "netns", "exec", space))
    finally:
        _ip("netns", "del", space)  # and with it the devices


def _ip(*words: str) -> None:
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True)
    except FileNotFoundError:
        raise BenchFailure("--network veth needs the command ip (Debian: iproute2)") from None
    if done.returncode:
        raise BenchFailure(f"--network veth needs to run as root; ip {' '.join(words)}: {done.stderr.strip()}")
