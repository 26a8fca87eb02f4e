"""The report counts clients and not connections, forgets the silent, and gives strangers no place."""

import json
import struct

import pytest
from stepdown.network.clients.client_exchange import join_reports, prepare_clients_dump
from stepdown.network.clients.client_report import MOST_NAME, ClientReport
from stepdown.network.clients.client_row import ClientRow, read_row
from stepdown.network.clients.losses import MOST_TOPIC_LENGTH, MOST_TOPICS, choose_topics
from stepdown.network.clients.refused_fetches import MOST_PARTITIONS, RefusedFetch, RefusedFetches
from stepdown.network.clients.seen_client import SeenClient
from stepdown.network.peer import Peer
from stepdown.network.principal import KafkaPrincipal
from stepdown.protocol.api import ApiKey
from support.record_sets import record_set

ALICE = KafkaPrincipal("User", "alice")


def report_of(most_clients: int = 10) -> ClientReport:
    return ClientReport(most_clients, lambda seconds: round(seconds * 1000))


def ask(report: ClientReport, peer: Peer, api: int, version: int, at_s: float = 1.0) -> SeenClient:
    client = report.client_of(peer, api)
    client.count_request((api, version), at_s)
    return client


def rows_of(report: ClientReport) -> list[ClientRow]:
    document = json.loads(json.dumps(report.document()))
    return [read_row(values) for values in document["clients"]]


def peer_of(client_id: str = "app", host: str = "10.0.0.1", port: int = 5000) -> Peer:
    return Peer(host=host, port=port, listener="PLAINTEXT", client_id=client_id)


def test_connections_of_one_program_are_one_client() -> None:
    report = report_of()
    for port in range(5):
        ask(report, peer_of(port=port), ApiKey.METADATA, 1)
    (row,) = rows_of(report)
    assert row.requests == {"Metadata": {"1": 5}}


def test_what_came_before_the_login_counts_for_who_logged_in() -> None:
    report, peer = report_of(), peer_of()
    ask(report, peer, ApiKey.API_VERSIONS, 3)
    ask(report, peer, ApiKey.SASL_HANDSHAKE, 1)
    assert len(report) == 0
    peer.principal, peer.software_name, peer.software_version = ALICE, "lib", "1.2"
    ask(report, peer, ApiKey.FETCH, 11, at_s=7.5)
    (row,) = rows_of(report)
    assert (row.principal, row.software, row.software_version, row.software_is_guess) == (
        "User:alice",
        "lib",
        "1.2",
        False,
    )
    assert row.requests == {"Fetch": {"11": 1}, "SaslHandshake": {"1": 1}, "ApiVersions": {"3": 1}}
    assert row.latest_ms == 7500


def test_a_crowd_of_names_takes_the_places_of_the_silent_and_not_of_the_busy() -> None:
    report, busy = report_of(most_clients=10), peer_of("busy")
    for number in range(200):
        ask(report, peer_of(f"crowd-{number}"), ApiKey.METADATA, 1, at_s=number)
        ask(report, busy, ApiKey.FETCH, 4, at_s=number)
    rows = rows_of(report)
    assert len(rows) == 10
    assert next(row for row in rows if row.client_id == "busy").requests == {"Fetch": {"4": 200}}
    assert report.document()["forgotten"] == 200 - 9


def test_a_client_that_was_forgotten_comes_back_with_its_next_request() -> None:
    report, peer = report_of(most_clients=1), peer_of("first")
    ask(report, peer, ApiKey.FETCH, 4)
    ask(report, peer_of("second"), ApiKey.FETCH, 4)
    assert not peer.seen.is_kept
    ask(report, peer, ApiKey.FETCH, 4)
    (row,) = rows_of(report)
    assert (row.client_id, row.requests) == ("first", {"Fetch": {"4": 2}})


def test_no_name_is_kept_at_any_length() -> None:
    report = report_of()
    ask(report, peer_of("x" * 30_000), ApiKey.METADATA, 1)
    assert rows_of(report)[0].client_id == "x" * MOST_NAME


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_the_format_of_what_is_produced_is_told(magic: int) -> None:
    client = SeenClient()
    client.count_produced_format(memoryview(record_set(magic)))
    assert list(client.produced.items()) == [((magic, 0), 1)]


def test_records_that_are_none_are_not_counted() -> None:
    client = SeenClient()
    for records in (b"", bytes(25), struct.pack(">qiib", 0, 0, 0, 77) + bytes(60)):
        client.count_produced_format(memoryview(records))
    assert not client.produced


def test_a_row_says_what_its_versions_cannot_carry_and_not_that_it_was_lost() -> None:
    """Headers stood as lost for clients whose topics never had any."""
    report = report_of()
    ask(report, peer_of("old"), ApiKey.FETCH, 1)
    ask(report, peer_of("newer"), ApiKey.FETCH, 3)
    ask(report, peer_of("modern"), ApiKey.FETCH, 4)
    rows = {row.client_id: row for row in rows_of(report)}
    assert {name: list(row.cannot_carry) for name, row in rows.items()} == {
        "old": ["headers", "zstd", "whether a transaction was committed", "timestamps"],
        "newer": ["headers", "zstd", "whether a transaction was committed"],
        "modern": [],
    }
    assert [row.lost for row in rows.values()] == [{}, {}, {}]
    assert {name: row.fetched for name, row in rows.items()} == {
        "old": {"v0": 1},
        "newer": {"v1": 1},
        "modern": {"v2": 1},
    }
    assert {name: row.works for name, row in rows.items()} == {"old": "no", "newer": "no", "modern": "yes"}
    assert rows["old"].because == {"4.0.0": "Fetch 1 (4 is the oldest there)"}


def test_reasons_that_are_those_of_all_releases_are_said_once() -> None:
    """What 4.0.1 to 4.4 do not answer was said twice, for 4.0.0 and for them, where JoinGroup 1 was another reason."""
    report = report_of()
    for name, asked in (("old", [ApiKey.FETCH, ApiKey.JOIN_GROUP]), ("group", [ApiKey.JOIN_GROUP]), ("new", [])):
        for key in (ApiKey.METADATA, *asked):
            ask(report, peer_of(name), key, 1)
    assert {row.client_id: row.reasons for row in rows_of(report)} == {
        "old": "Fetch 1 (4 is the oldest there); 4.0.0: JoinGroup 1 (2 is the oldest there)",
        "group": "4.0.0: JoinGroup 1 (2 is the oldest there); 4.0.1 to 4.4: it has not sent a request yet that tells",
        "new": "it has only asked for brokers and topics (Metadata)",
    }


def test_the_documents_have_the_verdict_and_the_reasons_as_commands_print_them() -> None:
    """The page made its own of them, and said of Kafka 4.4 what was so of 4.0.0."""
    report, peer = report_of(), peer_of("group")
    ask(report, peer, ApiKey.FETCH, 4)
    ask(report, peer, ApiKey.JOIN_GROUP, 0)
    for document in (report.document()["clients"][0], report.make_rows_maker(0, 1)[1]()[0]):
        assert document["works"] == "no with 4.0.0, yes with 4.0.1 to 4.4"
        assert document["reasons"] == "4.0.0: JoinGroup 0 (2 is the oldest there)"


def test_what_a_gateway_counts_is_shown_in_words() -> None:
    report = report_of()
    client = ask(report, peer_of("old"), ApiKey.PRODUCE, 0)
    client.translated[ApiKey.PRODUCE, 0, 3] += 1
    client.converted[2, 0, 3] += 4
    client.mapped_errors[ApiKey.PRODUCE, 87, -1] += 2
    client.count_loss("timestamps", 3)
    (row,) = rows_of(report)
    assert row.translated == {"Produce 0 as 3": 1}
    assert row.converted == {"v2 lz4 as v0": 4}
    assert row.mapped_errors == {"Produce 87 as -1": 2}
    assert row.lost == {"timestamps": 3}


def test_the_time_and_the_topics_of_losses_are_kept_and_joined() -> None:
    """A loss of last year looked like one that goes on, and no topic was named."""
    report, peer = report_of(), peer_of("old")
    for at_s, topics in ((5.0, ("a", "b")), (7.0, ("b", "c"))):
        ask(report, peer, ApiKey.FETCH, 1, at_s).count_loss("zstd", 1, topics)
    ask(report, peer, ApiKey.FETCH, 1, 9.0)
    details = {"zstd": {"latest_ms": 7000, "topics": ["a", "b", "c"]}}
    assert rows_of(report)[0].loss_details == report.make_rows_maker(0, 1)[1]()[0]["loss_details"] == details
    dumps = [json.loads(json.dumps(prepare_clients_dump(report)())) for _ in range(2)]
    joined = join_reports(dumps, 10, "kafka-1:9092")
    assert (rows_of(joined)[0].lost, rows_of(joined)[0].loss_details) == ({"zstd": 4}, details)
    assert joined.document()["cluster"] == "kafka-1:9092"


def test_topics_of_losses_are_bounded() -> None:
    client = SeenClient()
    for number in range(30):
        client.count_loss("zstd", 1, choose_topics(f"{number}-{'x' * 30_000}-{more}" for more in range(30)))
    assert len(client.loss_details["zstd"].topics) == MOST_TOPICS
    assert max(map(len, client.loss_details["zstd"].topics)) == MOST_TOPIC_LENGTH


def test_a_client_that_stands_still_at_an_error_is_kept_and_joined() -> None:
    """Who asked 300 times a second for what he could not read was nowhere to be seen."""
    report, peer = report_of(), peer_of("old")
    for at_s in (5.0, 6.0, 65.0):
        ask(report, peer, ApiKey.FETCH, 1, at_s).note_refused_fetch("t", 3, 70)
    joined = join_reports([json.loads(json.dumps(prepare_clients_dump(report)()))], 10)
    for each in (report, joined):
        (client,) = each
        assert [*client.refused_fetches.list_repeats(124.0)] == [(("t", 3), RefusedFetch(70, 5.0, 65.0, True))]
        assert [*client.refused_fetches.list_repeats(125.0)] == [], "it has not asked for a minute"


def test_a_client_that_goes_on_does_not_stand_still() -> None:
    fetches = RefusedFetches()
    for at_s in range(100):
        fetches.note(("t", 0), at_s, at_s)
        fetches.note(("once an hour", 0), 0, at_s * 3600)
    assert [*fetches.list_repeats(100.0)] == []


def test_refused_fetches_are_bounded() -> None:
    fetches = RefusedFetches()
    for at_s in range(2):
        for partition in range(30):
            fetches.note(("t", partition), 0, at_s)
    assert {partition for (_, partition), _ in fetches.list_repeats(1.0)} == set(range(MOST_PARTITIONS))
    fetches.note(("t", 99), 0, 100.0)
    assert ("t", 99) in fetches and len(fetches) == MOST_PARTITIONS


def test_a_row_without_a_field_is_refused() -> None:
    with pytest.raises(KeyError):
        read_row({"client_id": "x"})


def test_releases_that_differ_are_named() -> None:
    report, peer = report_of(), peer_of()
    ask(report, peer, ApiKey.FETCH, 4)
    ask(report, peer, ApiKey.JOIN_GROUP, 0)
    (row,) = rows_of(report)
    assert row.works == "no with 4.0.0, yes with 4.0.1 to 4.4"


def test_what_stepdown_sends_as_told_is_not_refused_to_anyone() -> None:
    """The page of a gateway counted `stepdown produce --as v1` among the clients that do not work with Kafka 4."""
    report, own = report_of(), peer_of("stepdown-cli")
    own.software_name, own.software_version = "stepdown", "0.1.0"
    ask(report, own, ApiKey.PRODUCE, 2)
    assert report.make_refused_clients_counter()() == 0
    ask(report, peer_of("old"), ApiKey.PRODUCE, 2)
    assert report.make_refused_clients_counter()() == 1
