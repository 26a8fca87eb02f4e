"""Frames and their headers: bytes off a connection to frames, a frame to header and body, a message to a frame.

    frame             int32 size of the rest | header | body
    request header    int16 key | int16 version | int32 correlation id       (all of it in header version 0)
                      | nullable string client id, int16 length in all versions      (from header version 1)
                      | tagged fields                                                (header version 2: flexible APIs)
    response header   int32 correlation id | tagged fields (header version 1: flexible APIs, but never ApiVersions)

Source: Kafka 3.9 `RequestHeader.json`, `ResponseHeader.json`, `ApiMessageTypeGenerator`. ControlledShutdown v0 has
request header 0. The ApiVersions response keeps header 0: its reader does not know yet what is spoken (KIP-511).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import Any, Final, NoReturn

from .api import ApiKey, ApiSpec, UnsupportedApi, spec_of
from .errors import ErrorCode, MalformedFrame, TlsInFrame
from .primitives import BUFFER_TYPES, MAX_ITEMS, MAX_STRING_BYTES, Piece, skip_tagged_fields
from .schema import decoder_of, encode, encoder_of

SIZE_BYTES: Final = 4
_SIZE: Final = Struct(">i")
_TLS_RECORDS: Final = (0x1503, 0x1603)
"""The first bytes of a TLS alert or handshake, read as those of a frame size."""
_HTTP: Final = frozenset((b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"CONN", b"PATC", b"HTTP"))
"""The first bytes of HTTP requests and answers."""
_API_KEY: Final = Struct(">h")
_REFUSED_VERSION: Final = int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2, "big")
_FIXED_HEADER: Final = Struct(">hhi")
_CLIENT_ID_LENGTH: Final = Struct(">h")
_NOTHING: Final = memoryview(b"")
_MOST_LAYOUTS: Final = 1024
"""Remembered layouts of headers: more than there are APIs and versions."""


class FrameParser:
    """Takes bytes as they come, gives back whole frames, without their size field.

    A frame that lies whole in what was fed is a view of it; only the pieces of an incomplete frame are copied, once. So
    a buffer that is to be used again may change only when `next_frame` has returned None and the frames are done with.
    Memory grows with the bytes received, whatever size a frame announces. `partial`: the bytes of a frame that is not
    whole yet, once `next_frame` has returned None.
    """

    __slots__ = ("_at", "_fed", "max_bytes", "partial")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._fed = _NOTHING
        self._at = 0  # where in it the next frame begins
        self.partial = bytearray()

    @property
    def buffered_bytes(self) -> int:
        """Bytes fed that no returned frame contains."""
        return len(self._fed) - self._at + len(self.partial)

    @property
    def held_bytes(self) -> int:
        """The size of the buffers that hold the `buffered_bytes`."""
        return (len(self._fed) if self._at < len(self._fed) else 0) + len(self.partial)

    @property
    def pending_frame_bytes(self) -> int:
        """The announced size of the incomplete frame; 0 if there is none, or it is not known yet or invalid."""
        known = self.partial or self._fed[self._at :]
        if len(known) < SIZE_BYTES:
            return 0
        size: int = _SIZE.unpack_from(known)[0]
        return size if len(known) - SIZE_BYTES < size <= self.max_bytes else 0

    @property
    def pending_api_key(self) -> int | None:
        """The API of the incomplete frame; None if there is none, or it is not known yet."""
        known = self.partial or self._fed[self._at :]
        if len(known) < SIZE_BYTES + _API_KEY.size:
            return None
        key: int = _API_KEY.unpack_from(known, SIZE_BYTES)[0]
        return key

    def feed(self, data: bytes | memoryview) -> int:
        """Takes more bytes; returns `held_bytes`."""
        if self._at < len(self._fed):
            data = b"".join((self._fed[self._at :], data))
        self._fed, self._at = memoryview(data), 0
        return len(data) + len(self.partial)

    def clear(self) -> None:
        """Forgets the bytes that no returned frame contains."""
        self._fed, self._at, self.partial = _NOTHING, 0, bytearray()

    def take_all(self) -> bytes:
        """Returns the bytes that no returned frame contains, and forgets them."""
        taken = b"".join((self.partial, self._fed[self._at :]))
        self.clear()
        return taken

    def next_frame(self) -> memoryview | None:
        """The next whole frame, or None when more bytes are needed.

        Raises: MalformedFrame when the announced size is negative or above `max_bytes`.
        """
        if self.partial:
            return self._complete_partial_frame()
        fed, at = self._fed, self._at
        left = len(fed) - at
        if left >= SIZE_BYTES:
            size = _SIZE.unpack_from(fed, at)[0]
            if not 0 <= size <= self.max_bytes:
                self._refuse_size(size)
            end = at + SIZE_BYTES + size
            if end <= len(fed):
                self._at = end
                return fed[at + SIZE_BYTES : end]
        if left:
            self._extend_partial(left)
        self._fed, self._at = _NOTHING, 0
        return None

    def _complete_partial_frame(self) -> memoryview | None:
        self._extend_partial(SIZE_BYTES - len(self.partial))
        if len(self.partial) < SIZE_BYTES:
            return None
        size = _SIZE.unpack_from(self.partial)[0]
        if not 0 <= size <= self.max_bytes:
            self._refuse_size(size)
        end = SIZE_BYTES + size
        self._extend_partial(end - len(self.partial))
        if len(self.partial) < end:
            return None
        frame, self.partial = self.partial, bytearray()
        return memoryview(frame)[SIZE_BYTES:]

    def _extend_partial(self, most_bytes: int) -> None:
        """Moves `most_bytes`, or what there is, from what was fed to the incomplete frame; none if it is negative."""
        if most_bytes > 0:
            taken = self._fed[self._at : self._at + most_bytes]
            self.partial += taken
            self._at += len(taken)

    def _refuse_size(self, size: int) -> NoReturn:
        if size >> 16 in _TLS_RECORDS:
            raise TlsInFrame("TLS comes where a frame begins, and is not spoken here")
        if _SIZE.pack(size) in _HTTP:
            raise MalformedFrame("HTTP comes where a frame of Kafka's protocol begins")
        raise MalformedFrame(f"a frame of {size} bytes is announced, {self.max_bytes} is the most")


@dataclass(slots=True)
class RequestHeader:
    """What stands before the body of a request. A null client id is kept as None and counts as empty."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def request_header_version(spec: ApiSpec, version: int) -> int:
    if spec.is_flexible(version):
        return 2
    return 0 if spec.key == ApiKey.CONTROLLED_SHUTDOWN and version == 0 else 1


def response_header_version(spec: ApiSpec, version: int) -> int:
    return 1 if spec.is_flexible(version) and spec.key != ApiKey.API_VERSIONS else 0


def decode_request_header(frame: memoryview) -> tuple[RequestHeader, memoryview]:
    """The header and a view of what follows it.

    ApiVersions passes with any version: a broker answers one it does not know with those it does.
    Raises: UnsupportedApi for an unknown key or version, MalformedFrame when the header cannot be read.
    """
    if len(frame) < _FIXED_HEADER.size:
        raise MalformedFrame(f"a request of {len(frame)} bytes has no whole header")
    key, version, correlation_id = _FIXED_HEADER.unpack_from(frame)
    position, client_id = _FIXED_HEADER.size, None
    header_version = _header_version(key, version)
    if header_version >= 1:
        start = position + _CLIENT_ID_LENGTH.size
        if start > len(frame):
            raise MalformedFrame("the request ends where its client id should begin")
        position = start + max(0, length := _CLIENT_ID_LENGTH.unpack_from(frame, position)[0])
        if position > len(frame):
            raise MalformedFrame(f"a client id of {length} bytes with {len(frame) - start} bytes left")
        if length >= 0:
            try:
                client_id = str(frame[start:position], "utf-8")
            except UnicodeDecodeError as error:
                raise MalformedFrame(f"the client id is no UTF-8: {error}") from error
    if header_version == 2:
        position = skip_tagged_fields(frame, position)
    return RequestHeader(key, version, correlation_id, client_id), frame[position:]


@lru_cache(_MOST_LAYOUTS)
def _header_version(key: int, version: int) -> int:
    spec = spec_of(key)
    if not spec.supports(version) and (key != ApiKey.API_VERSIONS or version < 0):
        raise UnsupportedApi(f"{spec.name} has versions {spec.min_version}-{spec.max_version}, not {version}")
    return request_header_version(spec, version)


def response_encoder(spec: ApiSpec, version: int) -> Callable[[int, Any], list[Piece]]:
    """A function that makes the frame of a response with a correlation id: pieces, the first with the size of all that
    follows.

    Raises: ValueError when there is no such version. The returned function raises ValueError, too, for a response that
    cannot be written.
    """
    layout = Struct(">ii") if response_header_version(spec, version) == 0 else Struct(">iix")
    encode_body = encoder_of(spec.response, version)

    def encode_frame(correlation_id: int, response: Any) -> list[Piece]:
        head = bytearray(layout.pack(0, correlation_id))
        return _write_size(encode_body(response, head), head)

    return encode_frame


def encode_response(spec: ApiSpec, version: int, correlation_id: int, response: Any) -> list[Piece]:
    """One frame of `response_encoder`."""
    return response_encoder(spec, version)(correlation_id, response)


def decode_response(spec: ApiSpec, version: int, frame: memoryview) -> tuple[int, Any]:
    """The correlation id and the response in a frame that a broker sent; a refused ApiVersions is answered in v0.

    Raises: MalformedFrame when it cannot be read.
    """
    if len(frame) < _SIZE.size:
        raise MalformedFrame(f"a response of {len(frame)} bytes has no whole header")
    correlation_id: int = _SIZE.unpack_from(frame)[0]
    body = frame[_SIZE.size :]
    if spec.key is ApiKey.API_VERSIONS and body[:2] == _REFUSED_VERSION:
        version = 0
    return correlation_id, decode_response_body(spec, version, body)


def decode_response_body(spec: ApiSpec, version: int, body: memoryview, most_items: int = MAX_ITEMS) -> Any:
    """The response in what follows the correlation id.

    Raises: MalformedFrame when it cannot be read, TooManyItems when its arrays together have more than
    `most_items`.
    """
    position = skip_tagged_fields(body, 0) if response_header_version(spec, version) == 1 else 0
    return decoder_of(spec.response, version)(body[position:], most_items)


def encode_request(
    spec: ApiSpec, version: int, correlation_id: int, client_id: str | None, request: Any
) -> list[Piece]:
    """The frame of a request in pieces, the first of which begins with the size of all that follows.

    Raises: ValueError when the request cannot be written in this version.
    """
    head = _request_head(spec, version, correlation_id, client_id)
    return _write_size(encode(request, version, head), head)


def encode_request_head_and_body(
    spec: ApiSpec, version: int, correlation_id: int, client_id: str | None, body: bytes | memoryview
) -> list[Piece]:
    """The frame of a request whose body is encoded already."""
    head = _request_head(spec, version, correlation_id, client_id)
    return _write_size([head, body], head)


def _request_head(spec: ApiSpec, version: int, correlation_id: int, client_id: str | None) -> bytearray:
    """Room for the size, and the header."""
    head = bytearray(SIZE_BYTES)
    head += _FIXED_HEADER.pack(spec.key, version, correlation_id)
    header_version = request_header_version(spec, version)
    if header_version >= 1:
        head += _encode_client_id(client_id)
    if header_version == 2:
        head.append(0)
    return head


def _encode_client_id(client_id: str | None) -> bytes:
    if client_id is None:
        return _CLIENT_ID_LENGTH.pack(-1)
    text = client_id.encode()
    if len(text) > MAX_STRING_BYTES:
        raise ValueError(f"a client id of {len(text)} bytes, {MAX_STRING_BYTES} is the most")
    return _CLIENT_ID_LENGTH.pack(len(text)) + text


def _write_size(pieces: list[Piece], head: bytearray) -> list[Piece]:
    size = -SIZE_BYTES
    for piece in pieces:
        size += len(piece) if type(piece) in BUFFER_TYPES else piece.size_bytes  # type: ignore[union-attr, arg-type]
    _SIZE.pack_into(head, 0, size)
    return pieces
