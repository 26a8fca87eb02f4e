"""Who a client is."""

from stepdown.network.peer import Peer
from stepdown.network.principal import ANONYMOUS, KafkaPrincipal


def test_a_principal_is_written_as_in_super_users():
    assert str(KafkaPrincipal("User", "CN=alice,O=Example")) == "User:CN=alice,O=Example"


def test_a_peer_is_anonymous_until_its_listener_knows_better():
    assert Peer(host="127.0.0.1", port=1, listener="PLAINTEXT").principal == ANONYMOUS
