"""Acts as one release of Kafka (`stepdown.act.as`): refuses the versions that this release lacks, in its way."""

import struct
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from ...network.answerer import Reply
from ...network.clients.client_report import MOST_NAME
from ...network.peer import Peer
from ...protocol.api import ApiKey, is_flexible_version
from ...protocol.errors import MalformedFrame
from ...protocol.frame import RequestHeader, decode_request_header
from ...protocol.kafka_releases import api_name
from .acted_release import WITHOUT_RANGE, apis_of
from .call import TESTS_CLIENT_ID
from .dispatcher import Dispatcher, Route
from .served_api import ServedApi

if TYPE_CHECKING:
    from ..core import Core

UNKNOWN_VERSION = 0x7FFF
NO_TAGGED_FIELDS = 0
_VERSION = struct.Struct(">h")
_VERSION_AT = 2  # after the key of the API


class ActingDispatcher(Dispatcher):
    """A dispatcher that serves the versions of the release; requests of a test itself are served in all versions."""

    def __init__(self, core: "Core", served: Mapping[ApiKey, ServedApi], release: str) -> None:
        super().__init__(core, served)
        self._release = release
        self._acted = apis_of(release, served)

    def answer(self, frame: memoryview, peer: Peer) -> Reply | Coroutine[Any, Any, Reply]:
        header, body = decode_request_header(frame)
        if header.client_id == TESTS_CLIENT_ID or self._is_served_version(header):
            return super().answer(frame, peer)
        if header.api_key != ApiKey.API_VERSIONS:
            peer.client_id = (header.client_id or "")[:MOST_NAME]
            raise MalformedFrame(
                f"{api_name(header.api_key)} version {header.api_version} is not in Kafka {self._release}, "
                "which stepdown.act.as names"
            )
        return super().answer(_with_unknown_version(header, frame[: len(frame) - len(body)]), peer)

    def _is_served_version(self, header: RequestHeader) -> bool:
        acted = self._acted.get(ApiKey(header.api_key))
        return acted is not None and acted.first <= header.api_version <= acted.last

    def _api_for_refusal(self, route: Route) -> ServedApi | None:
        return None if self._release in WITHOUT_RANGE else self._acted[route.spec.key]


def _with_unknown_version(header: RequestHeader, head: memoryview) -> memoryview:
    """The header with a version that no release has. Such a header is read as flexible, so an empty list of tagged
    fields is added if there is none.
    """
    unknown = bytearray(head)
    _VERSION.pack_into(unknown, _VERSION_AT, UNKNOWN_VERSION)
    if not is_flexible_version(header.api_key, header.api_version):
        unknown.append(NO_TAGGED_FIELDS)
    return memoryview(unknown)
