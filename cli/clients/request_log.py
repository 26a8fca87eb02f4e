"""Kafka's own request log (logger `kafka.request.logger` at DEBUG or TRACE), read line by line.

    2.7 and later   … Completed request:{"requestHeader":{"requestApiKey":1,"requestApiVersion":12,"clientId":"x"…},…
                    "connection":"10.0.0.1:9092-10.0.0.7:50123-3",…,"principal":"User:alice",…,
                    "clientInformation":{"softwareName":"lib","softwareVersion":"1"}}
    before          … Completed request:RequestHeader(apiKey=FETCH, apiVersion=11, clientId=x, correlationId=5) -- …
                    from connection 10.0.0.1:9092-10.0.0.7:50123-3;totalTime:…,principal:User:alice,listener:…
                    [,clientInformation:ClientInformation(softwareName=lib, softwareVersion=1)]

Source: Kafka's `RequestChannel.Request.updateRequestMetrics`, `RequestConvertToJson`, `RequestHeader.toString`. What
brokers ask each other is left out. Whatever stands before `Completed request:` is the logger's own.

Kafka 4 does not log a request whose version it has dropped. Its socket server, where it logs to the same file, says
which version that was, not whose: `SocketServer.Processor.parseRequestHeader`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO

from ...network.clients.client_report import ClientReport
from ...network.clients.seen_client import GREETINGS, UNKNOWN, SeenClient
from ...network.principal import USER_TYPE, KafkaPrincipal
from ...protocol.api import ApiKey
from ...protocol.kafka_releases import api_key_of, is_client_api

MARK = b"Completed request:"
MOST_LINE_BYTES = 16 * 1024 * 1024
"""A longer line is counted as one that cannot be read; at TRACE a line has all of a response but its records."""
MOST_NAMED_LINES = 5
MOST_CLIENTS = 100_000
MOST_GREETED = 10_000
WITH_REPLICA_ID = (ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH)
"""Requests that followers send, too."""

_HEADER = re.compile(
    r"RequestHeader\(apiKey=(?P<api>\w+), apiVersion=(?P<version>\d+), clientId=(?P<client>.*?), correlationId=-?\d+"
    r"(?:, headerVersion=\d+)?\) -- "
)
_CONNECTION = re.compile(r".* from connection (?P<connection>\S+);totalTime:", re.DOTALL)
_PRINCIPAL = re.compile(r".*,principal:(?P<type>[^:,]*):(?P<name>.*),listener:", re.DOTALL)
_SOFTWARE = re.compile(r".*softwareName=(?P<name>[^,]*), softwareVersion=(?P<version>[^)]*)\)", re.DOTALL)
_REMOTE = re.compile(r"[^-]*-(?P<host>.+):\d+-\d+(?:-\d+)?$")
_REPLICA = re.compile(r"\{replica_id=(?P<id>-?\d+)")
_TIME = re.compile(rb"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)")


_DROPPED = re.compile(rb"Received request for api with key \d+ \((\w{1,100})\) and unsupported version (\d{1,5})\b")
MOST_DROPPED = 100
"""APIs and versions that are counted; there are fewer than that."""


class UnreadableLine(Exception):
    """A line of the request log that has another form; the message says which part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRequest:
    """A request as it was logged; software is "unknown" where the line has none."""

    api_key: int
    version: int
    client_id: str
    connection: str
    address: str
    principal: KafkaPrincipal
    software_name: str = UNKNOWN
    software_version: str = UNKNOWN
    is_between_brokers: bool = False


@dataclass(slots=True)
class RequestLog:
    """What was read: lines, requests of clients and of brokers, lines with a request that could not be read."""

    report: ClientReport = field(default_factory=lambda: ClientReport(MOST_CLIENTS, as_milliseconds))
    lines: int = 0
    requests: int = 0
    requests_of_brokers: int = 0
    unreadable: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    """Requests that a Kafka 4 refused for their version, by API and version."""
    examples: list[str] = field(default_factory=list)
    """The first lines that could not be read, by number, and why."""
    _greeted: dict[str, SeenClient] = field(default_factory=dict)
    """Requests of connections whose client is not known yet, by connection."""

    def read(self, file: BinaryIO) -> None:
        """Counts what a log says, to its end."""
        for line in _read_lines(file):
            self.lines += 1
            at = -1 if line is None else line.find(MARK)
            if line is not None and at < 0:
                self._count_refusal(line)
                continue
            try:
                if line is None:
                    raise UnreadableLine(f"longer than {MOST_LINE_BYTES} bytes")
                self._count_request(
                    parse_request(line[at + len(MARK) :].decode("utf-8", "replace")), _parse_log_time(line[:at])
                )
            except UnreadableLine as fault:
                self._note_unreadable(str(fault))

    def _count_refusal(self, line: bytes) -> None:
        found = _DROPPED.search(line)
        if found is not None:
            name = f"{found[1].decode()} {int(found[2])}"
            if name in self.dropped or len(self.dropped) < MOST_DROPPED:
                self.dropped[name] += 1

    def _count_request(self, request: LoggedRequest, at_s: float) -> None:
        if request.is_between_brokers:
            self.requests_of_brokers += 1
            return
        self.requests += 1
        client = self._greeted.pop(request.connection, None) or SeenClient()
        client.count_request((request.api_key, request.version), at_s)
        if request.api_key in GREETINGS:
            self._greeted[request.connection] = client
            if len(self._greeted) > MOST_GREETED:
                del self._greeted[next(iter(self._greeted))]
            return
        self.report.find(
            request.address,
            request.principal,
            request.client_id,
            request.software_name,
            request.software_version,
        ).move_counts_from(client)

    def _note_unreadable(self, why: str) -> None:
        self.unreadable += 1
        if len(self.examples) < MOST_NAMED_LINES:
            self.examples.append(f"line {self.lines}: {why}")


def as_milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _read_lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Lines; None for one that is too long, of which no more than that is ever held."""
    while line := file.readline(MOST_LINE_BYTES):
        if len(line) < MOST_LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(MOST_LINE_BYTES)
        yield None


def parse_request(text: str) -> LoggedRequest:
    """What follows `Completed request:`. Raises: UnreadableLine."""
    text = text.strip()
    return _parse_json(text) if text.startswith("{") else _parse_header(text)


def _parse_json(text: str) -> LoggedRequest:
    try:
        fields, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as fault:
        raise UnreadableLine(f"no JSON after {MARK.decode()} {fault}") from fault
    header = _require_object(fields, "requestHeader")
    software = fields.get("clientInformation")
    software = software if isinstance(software, dict) else {}
    kind, _, name = str(fields.get("principal", "")).partition(":")
    key = _require_number(header, "requestApiKey")
    return LoggedRequest(
        api_key=key,
        version=_require_number(header, "requestApiVersion"),
        client_id=str(header.get("clientId") or ""),
        connection=str(fields.get("connection", "")),
        address=_client_host(str(fields.get("connection", ""))),
        principal=KafkaPrincipal(kind or USER_TYPE, name),
        software_name=str(software.get("softwareName") or UNKNOWN),
        software_version=str(software.get("softwareVersion") or UNKNOWN),
        is_between_brokers=fields.get("isForwarded") is True
        or _is_between_brokers(key, _replica_id_of(fields.get("request"))),
    )


def _require_object(fields: dict[str, Any], name: str) -> dict[str, Any]:
    part = fields.get(name)
    if not isinstance(part, dict):
        raise UnreadableLine(f"no {name}")
    return part


def _require_number(fields: dict[str, Any], name: str) -> int:
    number = fields.get(name)
    if not isinstance(number, int):
        raise UnreadableLine(f"no number as {name}")
    return number


def _replica_id_of(request: object) -> int:
    """The replica that a Fetch or a ListOffsets comes from, -1 for a consumer."""
    if not isinstance(request, dict):
        return -1
    state = request.get("replicaState")
    found = state.get("replicaId") if isinstance(state, dict) else None
    number = request.get("replicaId", -1) if found is None or found == -1 else found
    return number if isinstance(number, int) else -1


def _parse_header(text: str) -> LoggedRequest:
    header = _HEADER.match(text)
    if header is None:
        raise UnreadableLine(f"no request header after {MARK.decode()}")
    key = api_key_of(header["api"])
    rest = text[header.end() :]
    connection = _CONNECTION.match(rest)
    principal = _PRINCIPAL.match(rest)
    if connection is None or principal is None:
        raise UnreadableLine("no connection and principal after the request")
    software = _SOFTWARE.match(rest, principal.end())
    replica = _REPLICA.match(rest)
    return LoggedRequest(
        api_key=-1 if key is None else key,
        version=int(header["version"]),
        client_id=header["client"],
        connection=connection["connection"],
        address=_client_host(connection["connection"]),
        principal=KafkaPrincipal(principal["type"], principal["name"]),
        software_name=software["name"] if software else UNKNOWN,
        software_version=software["version"] if software else UNKNOWN,
        is_between_brokers=key is None or _is_between_brokers(key, int(replica["id"]) if replica else -1),
    )


def _is_between_brokers(key: int, replica_id: int) -> bool:
    """Whether a broker or a controller asks: by the request, or because it says which replica it is."""
    if not is_client_api(key) or key == ApiKey.WRITE_TXN_MARKERS:
        return True
    return key in WITH_REPLICA_ID and replica_id >= 0


def _client_host(connection: str) -> str:
    """The client's address in `10.0.0.1:9092-10.0.0.7:50123-3`."""
    found = _REMOTE.match(connection)
    if found is None:
        raise UnreadableLine(f"no addresses in the connection {connection[:100]!r}")
    return found["host"]


def _parse_log_time(before: bytes) -> float:
    """The time that the logger put before a request, as seconds; 0 where it is in no form of ISO."""
    found = _TIME.search(before)
    try:
        return datetime.fromisoformat(found[1].decode()).timestamp() if found else 0.0
    except ValueError:
        return 0.0
