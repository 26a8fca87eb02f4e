"""Broker keys of ZooKeeper. Source: Kafka 3.9 ZkConfigs."""

from __future__ import annotations

from ..keys.key import AT_START, BOOLEAN, INT, LIST, PASSWORD, STRING, inert
from ..keys.value_checks import AtLeast

KEYS = (
    *inert(
        "There is no ZooKeeper.",
        ("zookeeper.clientCnxnSocket", STRING, None, None, AT_START),
        ("zookeeper.connect", STRING, None, None, AT_START),
        ("zookeeper.connection.timeout.ms", INT, None, None, AT_START),
        ("zookeeper.max.in.flight.requests", INT, 10, AtLeast(1), AT_START),
        ("zookeeper.metadata.migration.enable", BOOLEAN, False, None, AT_START),
        ("zookeeper.session.timeout.ms", INT, 18_000, None, AT_START),
        ("zookeeper.set.acl", BOOLEAN, False, None, AT_START),
        ("zookeeper.ssl.cipher.suites", LIST, None, None, AT_START),
        ("zookeeper.ssl.client.enable", BOOLEAN, False, None, AT_START),
        ("zookeeper.ssl.crl.enable", BOOLEAN, False, None, AT_START),
        ("zookeeper.ssl.enabled.protocols", LIST, None, None, AT_START),
        ("zookeeper.ssl.endpoint.identification.algorithm", STRING, "HTTPS", None, AT_START),
        ("zookeeper.ssl.keystore.location", STRING, None, None, AT_START),
        ("zookeeper.ssl.keystore.password", PASSWORD, None, None, AT_START),
        ("zookeeper.ssl.keystore.type", STRING, None, None, AT_START),
        ("zookeeper.ssl.ocsp.enable", BOOLEAN, False, None, AT_START),
        ("zookeeper.ssl.protocol", STRING, "TLSv1.2", None, AT_START),
        ("zookeeper.ssl.truststore.location", STRING, None, None, AT_START),
        ("zookeeper.ssl.truststore.password", PASSWORD, None, None, AT_START),
        ("zookeeper.ssl.truststore.type", STRING, None, None, AT_START),
    ),
    *inert(
        "There is no ZooKeeper.",
        ("zookeeper.metadata.migration.min.batch.size", INT, 200, AtLeast(1), AT_START),
        internal=True,
    ),
)
