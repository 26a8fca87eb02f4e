"""Kafka's request log is read in each of its forms; lines of another form are counted and named."""

import io
import json

import pytest
from stepdown.cli.clients.request_log import (
    MOST_LINE_BYTES,
    MOST_NAMED_LINES,
    RequestLog,
    UnreadableLine,
    parse_request,
)

# Written by Apache Kafka 1.1.1 and 2.8.2, shortened.
OF_1_1 = (
    "[2026-11-27 23:01:02,345] DEBUG Completed request:RequestHeader(apiKey=PRODUCE, apiVersion=1, "
    "clientId=kp, correlationId=7) (0, 9), correlationId=1) -- {acks=-1,timeout=30000,numPartitions=1},response:"
    "{responses=[{topic=t,partition_responses=[{partition=0,error_code=0,base_offset=0}]}],throttle_time_ms=0} from "
    "connection 127.0.0.1:26445-10.0.0.7:39450-1;totalTime:179.169,requestQueueTime:0.283,localTime:174.549,"
    "remoteTime:0.0,throttleTime:8.428,responseQueueTime:4.018,sendTime:0.318,securityProtocol:PLAINTEXT,"
    "principal:User:CN=a,O=b,listener:PLAINTEXT,temporaryMemoryBytes:69,messageConversionsTime:30.564 "
    "(kafka.request.logger)"
)
OF_2_8 = (
    '[2026-11-27 23:01:02,345] DEBUG Completed request:{"isForwarded":false,"requestHeader":{"requestApiKey":1,'
    '"requestApiVersion":11,"correlationId":4,"clientId":"app","requestApiKeyName":"FETCH"},"request":{"replicaId":-1},'
    '"response":{},"connection":"0:0:0:0:0:0:0:1:9092-0:0:0:0:0:0:0:1:33950-3","totalTimeMs":30.312,'
    '"securityProtocol":"PLAINTEXT","principal":"User:alice","listener":"PLAINTEXT","clientInformation":'
    '{"softwareName":"lib","softwareVersion":"3.0.12"}} (kafka.request.logger)'
)


def json_line(key: int, version: int, **fields: object) -> str:
    values = json.loads(OF_2_8[OF_2_8.index("{") : OF_2_8.rindex("}") + 1])
    values["requestHeader"] |= {"requestApiKey": key, "requestApiVersion": version}
    return f"x Completed request:{json.dumps(values | fields)}"


def read(*lines: str) -> RequestLog:
    log = RequestLog()
    log.read(io.BytesIO("\n".join(lines).encode()))
    return log


def rows_of(log: RequestLog) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = log.report.document()["clients"]
    return rows


def test_a_line_of_1_1_has_a_request_header() -> None:
    (row,) = rows_of(read(OF_1_1))
    assert row["requests"] == {"Produce": {"1": 1}}
    assert (row["client_id"], row["address"], row["principal"]) == (
        "kp, correlationId=7) (0, 9)", "10.0.0.7", "User:CN=a,O=b",
    )  # fmt: skip
    assert row["latest_ms"]


def test_a_line_of_2_4_names_the_software_too() -> None:
    line = OF_1_1.replace(
        ",temporaryMemoryBytes:69,",
        ",clientInformation:ClientInformation(softwareName=lib, softwareVersion=2.4.1),temporaryMemoryBytes:69,",
    )
    (row,) = rows_of(read(line))
    assert (row["software"], row["software_version"], row["software_is_guess"]) == ("lib", "2.4.1", False)


def test_a_line_of_2_7_and_later_is_json() -> None:
    (row,) = rows_of(read(OF_2_8))
    assert row["requests"] == {"Fetch": {"11": 1}}
    assert (row["client_id"], row["address"], row["principal"], row["software"]) == (
        "app", "0:0:0:0:0:0:0:1", "User:alice", "lib",
    )  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        json_line(1, 17, request={"replicaState": {"replicaId": 2, "replicaEpoch": 5}}),
        json_line(1, 11, request={"replicaId": 2}),
        json_line(2, 5, request={"replicaId": 0}),
        json_line(27, 0),
        json_line(4, 5),
        json_line(63, 1),
        json_line(19, 0, isForwarded=True),
        OF_1_1.replace("apiKey=PRODUCE", "apiKey=UPDATE_METADATA"),
        OF_1_1.replace("apiKey=PRODUCE", "apiKey=FETCH").replace("{acks=-1", "{replica_id=2,acks=-1"),
    ],
)
def test_what_brokers_ask_each_other_is_no_clients(line: str) -> None:
    log = read(line)
    assert (log.requests, log.requests_of_brokers, log.unreadable) == (0, 1, 0)


def test_a_client_that_greets_before_it_names_itself_is_one_client() -> None:
    unnamed = {"softwareName": "unknown", "softwareVersion": "unknown"}
    log = read(json_line(18, 3, clientInformation=unnamed), json_line(0, 9))
    (row,) = rows_of(log)
    assert row["requests"] == {"Produce": {"9": 1}, "ApiVersions": {"3": 1}}


@pytest.mark.parametrize(
    "broken",
    [
        'Completed request:{"requestHeader"',
        "Completed request:",
        "Completed request:{}",
        'Completed request:{"requestHeader":{"requestApiKey":"x"}}',
        "Completed request:[1]",
        OF_1_1[:300],
        OF_1_1.replace("39450-1;", "39450;"),
        json_line(1, 11, connection="nowhere"),
        f"Completed request:{'[' * 100_000}",
        f"Completed request:{{{'[' * 100_000}",
    ],
)
def test_a_broken_line_is_counted_and_the_rest_is_read(broken: str) -> None:
    log = read("a trace", broken, OF_2_8)
    assert (log.lines, log.requests, log.unreadable) == (3, 1, 1)
    assert log.examples[0].startswith("line 2: ")


def test_few_broken_lines_are_named_of_many() -> None:
    log = read(*["Completed request:{"] * 50)
    assert (log.unreadable, len(log.examples)) == (50, MOST_NAMED_LINES)


def test_a_line_without_an_end_is_never_held_whole() -> None:
    class Endless(io.RawIOBase):
        """Three lines' worth of bytes without a line's end, then a request."""

        def __init__(self) -> None:
            self.left = 3 * MOST_LINE_BYTES
            self.largest = 0
            self.rest = io.BytesIO(b"\n" + OF_2_8.encode())

        def readline(self, size: int | None = -1) -> bytes:  # type: ignore[override]
            assert size is not None and 0 < size <= MOST_LINE_BYTES
            if self.left:
                self.left -= size
                return bytes(size)
            return self.rest.readline(size)

    log = RequestLog()
    log.read(Endless())  # type: ignore[arg-type]
    assert (log.lines, log.requests, log.unreadable) == (2, 1, 1)


def test_the_text_of_a_line_cannot_be_taken_for_another_form() -> None:
    with pytest.raises(UnreadableLine, match="no request header"):
        parse_request("Name: FetchRequest; Version: 0")
