"""The numbers in docs/limits.md are those of the code."""

import re
from pathlib import Path

import pytest
from stepdown.broker import core
from stepdown.broker.dispatch import dispatcher, served_api
from stepdown.broker.fetch import session
from stepdown.broker.groups import coordinator
from stepdown.broker.groups.classic import rebalance
from stepdown.broker.groups.consumer import topic_regex
from stepdown.broker.handlers import MOST_PROTOCOLS
from stepdown.broker.quotas import client_quotas
from stepdown.config.tables.all_keys import BROKER_KEYS
from stepdown.network import connection, listener, turn
from stepdown.network.admission import (
    address_budget,
    descriptor_reserve,
    listener_admission,
    long_requests,
    peer_log_limit,
    request_claims,
    shared_by_connections,
)
from stepdown.network.http import server
from stepdown.network.page import page_query
from stepdown.network.sasl import oauthbearer, plain, scram
from stepdown.network.tls import tls_wire
from stepdown.protocol import primitives, tls_records

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "limits.md").read_text()
KIB = 1024
MIB = 1024 * KIB


def kib(size_bytes: int) -> str:
    assert size_bytes % KIB == 0
    return f"{size_bytes // KIB} KiB"


def mib(size_bytes: int) -> str:
    assert size_bytes % MIB == 0
    return f"{size_bytes // MIB} MiB"


SAID = {
    "a turn": (f"{turn.TURN_S * 1000:g} ms", f"{turn.TURNS_A_PASS} in a pass"),
    "items of all arrays": (f"{served_api.CHEAP:,}", f"{served_api.IN_ONE_GO:,}"),
    "requests that take more than two turns": (
        f"{core.LONG_REQUESTS_AT_ONCE} at once",
        f"{kib(long_requests.BUILT_BYTES)} each",
    ),
    "tagged fields of one struct": (f"{primitives.MAX_TAGGED_FIELDS}",),
    f"a request of more than {kib(dispatcher.LARGE_REQUEST_BYTES)}": (),
    f"unfinished requests of more than {kib(connection.CHARGED_FRAME_BYTES)}": (),
    f"unfinished requests of at most {kib(connection.CHARGED_FRAME_BYTES)}": (),
    "how fast such a request has to come": (f"all of it in {shared_by_connections.MOST_MS_A_FRAME // 1000} s",),
    "a request before authentication": (
        mib(listener_admission.MEMORY_BYTES),
        f"more than {address_budget.MOST_WAITING_WITH_BYTES} wait",
    ),
    "a SASL message": (
        f"PLAIN {kib(plain.Plain.most_bytes)}",
        f"SCRAM {kib(scram.Scram.most_bytes)}",
        f"OAUTHBEARER {kib(oauthbearer.OAuthBearer.most_bytes)}",
    ),
    "what is read ahead": (
        f"{kib(connection.READ_BYTES)}, by one read",
        f"up to {kib(connection.READ_AHEAD_BYTES)}",
        f"{kib(connection.CHARGED_FRAME_BYTES)} while others wait",
        f"{kib(connection.RESTRICTED_BYTES)} while what is read ahead",
    ),
    "lines in the log of each": (f"{peer_log_limit.MOST_OF_A_NETWORK} for", f"{peer_log_limit.MOST_OF_ALL} in all"),
    "TLS handshakes and unfinished requests": (
        mib(listener_admission.MEMORY_BYTES),
        f"{kib(tls_wire.HANDSHAKE_BYTES)} a handshake",
        f"after {address_budget.OTHERS_PATIENCE_MS / 1000:g} s",
        f"after {listener_admission.PATIENCE_MS // 1000} s",
    ),
    "TLS records read in one step": (f"{tls_wire.MOST_READS}",),
    "answers to renewed TLS keys": (kib(tls_wire.MOST_UNSENT_BYTES - tls_records.CHUNK_BYTES),),
    "file descriptors": (
        f"clients leave {descriptor_reserve.RESERVED}",
        f"HTTP port {descriptor_reserve.RESERVED_FROM_HTTP}",
    ),
    "expressions over topic names": (
        f"{topic_regex.MAX_PATTERN_CHARS:,} characters",
        f"{topic_regex.MAX_PROGRAM:,} steps",
        f"{topic_regex.MAX_LEARN_S:g} s",
    ),
    f"requests of more than {kib(request_claims.FREE_PARSED_BYTES)} once they are read": (
        f"{request_claims.BYTES_A_BYTE} times",
    ),
    f"long answers (more than {kib(dispatcher.CHARGED_ANSWER_BYTES)})": (f"{core.LONG_FETCHES_AT_ONCE} are made",),
    "rates of users and clients": (f"{client_quotas.MOST_MEASURED:,} of each kind",),
    "protocols of a JoinGroup": (f"{MOST_PROTOCOLS}",),
    "member ids that were given out": (f"{rebalance.MOST_PENDING_MEMBERS:,} of each",),
    "partitions of all fetch sessions": (
        f"{session.MOST_PARTITIONS:,}",
        f"{session.MOST_NAME_BYTES // 1_000_000} MB of names",
        f"{served_api.CHEAP:,} of one fetch",
    ),
    "connections to the HTTP port": (f"{server.MOST_CONNECTIONS}",),
    "requests that are pipelined there": (),
    "a table of the page": (f"{page_query.MOST_ROWS} rows",),
}
SETTING = re.compile(r"`([a-z0-9.]+)`,? \(([\d,]+(?: [KM]iB)?(?:/s)?)\)")
UNITS = {"": 1, "KiB": KIB, "MiB": MIB}


@pytest.mark.parametrize("row", SAID)
def test_a_limit_is_as_the_page_says(row: str) -> None:
    (said,) = re.findall(rf"^\| {re.escape(row)}[^|]*\|[^|]*\|[^|]*\|[^|]*\|$", PAGE, re.MULTILINE)
    assert [text for text in SAID[row] if text not in said] == []


def test_settings_have_the_defaults_that_the_page_says() -> None:
    said = SETTING.findall(PAGE)
    assert len(said) >= 6
    for name, text in said:
        number, _, unit = text.removesuffix("/s").partition(" ")
        assert BROKER_KEYS[name].default == int(number.replace(",", "")) * UNITS[unit], name


def test_one_place_accepts_as_many_as_the_page_says() -> None:
    assert f"a pass of the loop accepts {listener.ACCEPTS_A_TURN}" in PAGE
    assert rebalance.MOST_PENDING_MEMBERS == coordinator.MOST_UNUSED_GROUPS
