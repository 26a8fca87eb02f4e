"""Each denied right had a line in the log: who has none wrote 100 lines a request, as many as he liked."""

import pytest
from stepdown.broker.security.authorization.access import MOST_NAME_LOGGED, RestrictedAccess
from stepdown.broker.security.authorization.authorizer import Authorizer
from stepdown.network.admission.peer_log_limit import MOST_OF_A_NETWORK, PeerLogLimit
from stepdown.network.principal import KafkaPrincipal
from stepdown.protocol.acls import AclOperation, ResourceType
from support.clock import ManualClock

REQUESTS = 1_000
MOST_AFTERWARDS = 4


def restricted(lines: PeerLogLimit, host: str) -> RestrictedAccess:
    authorizer = Authorizer(frozenset(), allows_without_acls=False)
    return RestrictedAccess(authorizer, KafkaPrincipal("User", "eve"), host, "METADATA", lines)


def test_a_client_without_rights_has_a_few_lines_and_others_have_theirs(caplog: pytest.LogCaptureFixture) -> None:
    lines = PeerLogLimit(ManualClock())
    with caplog.at_level("INFO"):
        for number in range(REQUESTS):
            access = restricted(lines, "10.0.0.1")
            for topic in ("a", "b", f"c{number}"):
                assert not access.may(AclOperation.READ, ResourceType.TOPIC, topic)
        assert MOST_OF_A_NETWORK <= len(caplog.records) <= MOST_OF_A_NETWORK + MOST_AFTERWARDS
        restricted(lines, "10.0.0.2").may(AclOperation.WRITE, ResourceType.TOPIC, "a")
    assert "User:eve is Denied operation = WRITE from host = 10.0.0.2" in caplog.records[-1].getMessage()


def test_a_request_has_one_line_for_what_it_asks_again(caplog: pytest.LogCaptureFixture) -> None:
    access = restricted(PeerLogLimit(ManualClock()), "10.0.0.1")
    with caplog.at_level("INFO"):
        for _ in range(REQUESTS):
            access.may(AclOperation.READ, ResourceType.GROUP, "g" * 10_000)
    (line,) = caplog.messages
    assert len(line) < 2 * MOST_NAME_LOGGED
