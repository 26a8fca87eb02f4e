"""A broker that does not answer, for clients that have to notice it."""

import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import FrameParser, decode_request_header, encode_response
from stepdown.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse

from .deadline import DEADLINE_S

MOST_BYTES = 1 << 20
ALL_APIS = ApiVersionsResponse(
    api_keys=[
        ApiVersion(api_key=key, min_version=spec.min_version, max_version=spec.max_version) for key, spec in API.items()
    ]
)


class SilentBroker:
    """Listens at `address` while the block runs. Of a client's requests it answers ApiVersions alone, if `greets`.

    `on_wait` is called once, in a thread, when a client waits for another answer. A client that has not hung up at the
    deadline is counted in `waited_on`, and its connection closed.
    """

    def __init__(self, *, greets: bool, on_wait: Callable[[], object] = lambda: None) -> None:
        self._greets, self._on_wait, self._telling = greets, on_wait, threading.Lock()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self.waited_on = 0
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._server.close()

    def _start(self, target: Callable[..., None], *given: object) -> None:
        self._threads.append(threading.Thread(target=target, args=given, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            self._start(self._talk, client)

    def _talk(self, client: socket.socket) -> None:
        parser = FrameParser(MOST_BYTES)
        with client:
            client.settimeout(DEADLINE_S)
            try:
                while data := client.recv(MOST_BYTES):
                    if not self._greets or not self._answer(client, parser, data):
                        self._tell_once()
            except ConnectionError:
                pass
            except TimeoutError:
                self.waited_on += 1

    def _tell_once(self) -> None:
        with self._telling:
            on_wait, self._on_wait = self._on_wait, lambda: None
        on_wait()

    def _answer(self, client: socket.socket, parser: FrameParser, data: bytes) -> bool:
        parser.feed(data)
        while (frame := parser.next_frame()) is not None:
            header, _ = decode_request_header(frame)
            if header.api_key != ApiKey.API_VERSIONS:
                return False
            served = [
                ApiVersion(api_key=k, min_version=v.min_version, max_version=v.max_version) for k, v in API.items()
            ]
            answer = ApiVersionsResponse(api_keys=served)
            pieces = encode_response(API[ApiKey.API_VERSIONS], header.api_version, header.correlation_id, answer)
            client.sendall(b"".join(map(bytes, pieces)))  # type: ignore[arg-type]  # bytes, as the answer is small
        return True
