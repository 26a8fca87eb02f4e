"""`stepdown clients` as a table, JSON and CSV, of a running broker and of a request log."""

import asyncio
import csv
import io
import json
from pathlib import Path

import pytest
from stepdown import __version__
from stepdown.network.clients.client_report import ClientReport
from stepdown.network.principal import ANONYMOUS
from stepdown.protocol.api import ApiKey
from stepdown.protocol.messages.metadata import MetadataRequest
from support.cli_steps import commands_for
from support.client import RawClient
from support.command import Finished, run_command
from support.running import running_broker

from .test_request_log import OF_1_1, OF_2_8, json_line


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "kafka-request.log"
    file.write_text(f"{OF_1_1}\n{OF_2_8}\n{json_line(3, 12, principal='User:bob')}\nCompleted request:{{\n")
    return file


def test_the_table_says_who_works_and_why_not(log: Path) -> None:
    done = run_command("clients", "--from-request-log", log)
    assert done.exit_code == 0
    assert "Produce 1 (3 is the oldest there)" in done.stdout
    assert "lib 3.0.12" in done.stdout
    assert (
        "3 clients: 1 works with Kafka 4 by what was seen, 1 does not work with Kafka 4 without a gateway, "
        "1 is not known yet" in done.stdout
    )
    assert "kp, correlationId=7) (0, 9): mend: a client library of Kafka 2.1 or later" in done.stdout
    assert "3 requests of clients in 4 lines" in done.stderr
    assert "1 request could not be read: line 4: " in done.stderr


def test_the_table_is_not_wider_in_a_pipe_than_people_read(log: Path) -> None:
    """It had 330 columns."""
    with log.open("a") as file:
        file.write(OF_1_1.replace("clientId=", f"clientId={'long-' * 60}"))
    lines = run_command("clients", "--from-request-log", log).stdout.partition("\n\n")[0].splitlines()
    assert max(map(len, lines)) <= 160


def test_the_totals_leave_out_what_there_is_none_of() -> None:
    """It said "1 client: 0 work with Kafka 4 by what was seen, 1 do not, of 0 it is not known yet"."""
    done = run_command("clients", "--from-request-log", "-", stdin=OF_1_1.encode())
    assert done.stdout.splitlines()[-1] == "1 client: 1 does not work with Kafka 4 without a gateway"


def test_stdin_is_read_as_a_file_is() -> None:
    done = run_command("clients", "--from-request-log", "-", "--json", stdin=OF_2_8.encode())
    assert json.loads(done.stdout)["clients"][0]["client_id"] == "app"


def test_csv_has_a_line_a_client_and_no_formula(log: Path) -> None:
    """A client chooses its id, and a spreadsheet computes what begins with =."""
    with log.open("a") as file:
        file.write(OF_2_8.replace('"app"', '"=HYPERLINK(1)"'))
    done = run_command("clients", "--from-request-log", log, "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 4
    assert {(row["client_id"], row["works_with_kafka_4"]) for row in rows} == {
        ("kp, correlationId=7) (0, 9)", "no"),
        ("app", "yes"),
        ("app", "unknown"),
        ("'=HYPERLINK(1)", "yes"),
    }


async def test_a_running_broker_is_asked_over_http(tmp_path: Path) -> None:
    async with (
        running_broker(tmp_path) as broker,
        await RawClient.connect(broker.address.host, broker.address.port, client_id="me") as client,
    ):
        await client.send(MetadataRequest(topics=()), 0)
        address = broker.http_address
        assert address is not None
        done = await asyncio.to_thread(run_command, "clients", "--http", f"{address.host}:{address.port}", "--json")
        copied = await asyncio.to_thread(run_command, "clients", f"http://{address}/clients", "--json")
    assert copied.exit_code == 0, "an address without --http, and one with a path, were refused"
    document = json.loads(done.stdout)
    assert [row["client_id"] for row in document["clients"]] == ["me"]
    assert document["forgotten"] == 0


async def test_the_port_of_kafkas_clients_is_told_from_one_that_nobody_has(tmp_path: Path) -> None:
    """No HTTP port answered there, it said, since the connection was closed without a response."""
    async with running_broker(tmp_path) as broker:
        asked = ("clients", "--http", str(broker.address))
        clients = await asyncio.to_thread(run_command, *asked)
        faults = await asyncio.to_thread(run_command, "faults", "list", "--control", str(broker.address))
    assert f"{broker.address} closed the connection: it may be the port of Kafka's clients" in clients.stderr
    assert "it may be the port of Kafka's clients" in faults.stderr


async def test_the_password_of_the_page_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"stepdown_page_password": "secret", "connection_failed_authentication_delay_ms": 0}
    async with running_broker(tmp_path, **settings) as broker:
        where = ("clients", "--http", str(broker.http_address), "--json")
        assert "asks for a password" in (await asyncio.to_thread(run_command, *where)).stderr
        monkeypatch.setenv("STEPDOWN_PAGE_PASSWORD", "other")
        assert "does not take the password" in (await asyncio.to_thread(run_command, *where)).stderr
        monkeypatch.setenv("STEPDOWN_PAGE_PASSWORD", "secret")
        done = await asyncio.to_thread(run_command, *where)
    assert json.loads(done.stdout)["clients"] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "which clients?\n  --http HOST:PORT, or the variable STEPDOWN_HTTP, asks a running stepdown"),
        (("--http", "127.0.0.1:1", "--from-request-log", "x"), "expected --http or --from-request-log, found both"),
        (("--http", "127.0.0.1:1", "--json", "--csv"), "expected --json or --csv, found both"),
        (("--from-request-log", "/nowhere"), "No such file"),
        (("--http", "nowhere"), "--http: expected"),
        (("--http", "https://127.0.0.1:1/clients"), "--http: expected HOST:PORT without https://, which the"),
        (("--http", "127.0.0.1:1"), "no http port answers at 127.0.0.1:1: Connection refused"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: tuple[str, ...], says: str) -> None:
    """It said "nothing to read, or two things"."""
    done: Finished = run_command("clients", *arguments)
    assert done.exit_code
    assert says in done.stderr


@pytest.mark.parametrize(
    "typed", ["127.0.0.1:1/clients", "127.0.0.1:1/", "HTTP://127.0.0.1:1", "http://127.0.0.1:1/#/clients", ":1"]
)
def test_an_address_may_be_typed_as_a_browser_shows_it(typed: str) -> None:
    """A path without http:// was "expected HOST:PORT", and no host was "Name or service not known"."""
    for arguments in (("--http", typed), (typed,)):
        told = run_command("clients", *arguments).stderr
        assert f"no http port answers at {'' if typed == ':1' else '127.0.0.1'}:1: Connection refused" in told


def test_a_log_without_requests_is_no_empty_report(tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    file.write_text("INFO started\n")
    done = run_command("clients", "--from-request-log", file)
    assert done.exit_code
    assert "kafka.request.logger" in done.stderr


def test_the_log_of_a_kafka_4_is_not_taken_for_all_that_was_asked() -> None:
    """What Kafka 4 refuses is not in its request log, and what a gateway translated is: the verdict was yes for all."""
    refused = "…UnsupportedVersionException: Received request for api with key 0 (Produce) and unsupported version 1"
    gateway = OF_2_8.replace('"lib"', '"stepdown-gateway"')
    done = run_command("clients", "--from-request-log", "-", stdin=f"{refused}\n{refused}\n{gateway}".encode())
    assert "2 requests closed the connection, since this Kafka has dropped the version: Produce 1. " in done.stderr
    assert "Clients of a stepdown gateway are here with the requests that it made of theirs" in done.stderr


@pytest.mark.parametrize(
    ("cluster", "setting"),
    [
        (
            "",
            "set stepdown.downconversion.zstd=gzip, where nothing restarts: stepdown configs alter broker -c "
            "stepdown.downconversion.zstd=gzip -b HOST:PORT",
        ),
        (
            "kafka-1:9092",
            "set stepdown.downconversion.zstd: gzip in the gateway's file, or "
            "STEPDOWN_GATEWAY_STEPDOWN_DOWNCONVERSION_ZSTD=gzip, and restart the gateway",
        ),
    ],
    ids=["broker", "gateway"],
)
def test_what_is_lost_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch, cluster: str, setting: str) -> None:
    """Only the JSON had it; then no time, topic, file, variable or command was named."""
    report = ClientReport(10, round, cluster)
    client = report.find("10.0.0.1", ANONYMOUS, "appliance")
    client.count_request((ApiKey.FETCH, 3), 0.0)
    client.count_loss("timestamps", 10, ("orders",))
    client.count_loss("zstd", 1, ("orders", "stock"))
    client.count_loss("segment lists", 1)
    monkeypatch.setattr("stepdown.cli.clients.report_page.fetch_report", lambda *_: report.document())
    done = run_command("clients", "--http", "127.0.0.1:1")
    at, servers = "1970-01-01 00:00:00Z", cluster or "HOST:PORT"
    assert done.stdout.splitlines()[-5:-1] == [
        "appliance: not in its versions: headers, zstd, whether a transaction was committed",
        f"appliance: lost: timestamps (10), last at {at}, of orders: give its topics message.timestamp.type="
        f"LogAppendTime: stepdown topics alter orders -c message.timestamp.type=LogAppendTime -b {servers}",
        f"appliance: lost: zstd, in fetches of a partition (1), last at {at}, of orders, stock: {setting}; records "
        "that are there already need that, new ones may have another codec instead: compression.type=gzip of the "
        "producers, which then restart, or of the topic, where nothing restarts: stepdown topics alter TOPIC -c "
        f"compression.type=gzip -b {servers}",
        f"appliance: lost: segment lists (1), last at {at}",
    ]


def test_advice_that_was_followed_is_not_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ordered what had been done, for as long as the client was there."""
    report = ClientReport(10, lambda seconds: round(seconds * 1000), "kafka-1:9092")
    client = report.find("10.0.0.1", ANONYMOUS, "appliance")
    client.count_request((ApiKey.PRODUCE, 1), 0.0)
    client.count_loss("timestamps", 10, ("orders",))
    monkeypatch.setattr("stepdown.cli.clients.report_page.fetch_report", lambda *_: report.document())
    client.count_request((ApiKey.PRODUCE, 1), 599.0)
    assert "topics alter orders" in run_command("clients", "--http", "127.0.0.1:1").stdout
    client.count_request((ApiKey.PRODUCE, 1), 725.0)
    done = run_command("clients", "--http", "127.0.0.1:1")
    (line,) = [each for each in done.stdout.splitlines() if "lost:" in each]
    assert line == (
        "appliance: lost: timestamps (10), last at 1970-01-01 00:00:00Z, and none in its requests of the 12 min since"
    )


async def test_a_command_of_stepdown_is_one_client_that_needs_no_gateway(tmp_path: Path) -> None:
    """`produce --as` was two clients, a guess and stepdown, of which one did "not work with Kafka 4"; later the row
    said no, and the page something else."""
    async with running_broker(tmp_path) as broker:
        run = commands_for(broker)
        await run("topics", "create", "t")
        await run("produce", "t", "--as", "v1", stdin=b"a\n")
        done = await asyncio.to_thread(run_command, "clients", "--http", str(broker.http_address))
    assert f"stepdown {__version__} " in done.stdout and "guess" not in done.stdout
    assert "  own command  " in done.stdout
    assert done.stdout.splitlines()[-1] == "1 client: 1 is stepdown itself"
