"""Broker keys about listeners, connections and requests. Sources: Kafka 3.9 SocketServerConfigs, ServerConfigs."""

from __future__ import annotations

from ..keys.key import AT_START, CLUSTER, INT, LONG, MAX_INT, PER_BROKER, STRING, active, inert
from ..keys.value_checks import AtLeast

LISTENERS = (
    active(
        "listeners",
        STRING,
        "PLAINTEXT://:9092",
        None,
        PER_BROKER,
        "Addresses to listen on, separated by commas, each NAME://HOST:PORT. No host, or 0.0.0.0, is every address of "
        "the machine; port 0 takes a free port. Listeners named in controller.listener.names are left out.",
    ),
    active(
        "advertised.listeners",
        STRING,
        None,
        None,
        PER_BROKER,
        "Addresses that clients have to connect to, where they differ from listeners. Names must be among those of "
        "listeners.",
    ),
    active(
        "listener.security.protocol.map",
        STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        None,
        PER_BROKER,
        "Security protocol of each listener, as NAME:PROTOCOL pairs separated by commas.",
        attribute="",
    ),
    active(
        "controller.listener.names",
        STRING,
        None,
        None,
        AT_START,
        "Names of listeners that belong to Kafka's controller; stepdown does not open them.",
        attribute="",
    ),
    active(
        "inter.broker.listener.name",
        STRING,
        None,
        None,
        AT_START,
        "The broker opens no connections of its own. The name must be among the advertised listeners.",
    ),
)

CONNECTIONS = (
    active(
        "connections.max.idle.ms",
        LONG,
        600_000,
        None,
        AT_START,
        "Time without a request after which a connection is closed. A negative value keeps it open.",
    ),
    active(
        "max.connections",
        INT,
        MAX_INT,
        AtLeast(0),
        CLUSTER,
        "Connections that may be open at the same time; further ones wait. "
        "As listener.name.NAME.max.connections, those of one listener.",
    ),
    active(
        "max.connections.per.ip",
        INT,
        MAX_INT,
        AtLeast(0),
        CLUSTER,
        "Connections that one address may have open at the same time.",
    ),
    active(
        "max.connections.per.ip.overrides",
        STRING,
        "",
        None,
        CLUSTER,
        "Exceptions to max.connections.per.ip, as ADDRESS:NUMBER pairs separated by commas.",
    ),
    active(
        "max.connection.creation.rate",
        INT,
        MAX_INT,
        AtLeast(0),
        CLUSTER,
        "Connections a second that are taken; the rest wait. "
        "As listener.name.NAME.max.connection.creation.rate, those of one listener.",
    ),
)

SOCKETS = (
    active(
        "socket.listen.backlog.size",
        INT,
        50,
        AtLeast(1),
        AT_START,
        "Connections that the operating system may hold until they are taken.",
    ),
    active(
        "socket.send.buffer.bytes",
        INT,
        102_400,
        AtLeast(-1),
        AT_START,
        "Size of the send buffer of sockets; -1 leaves it to the operating system.",
    ),
    active(
        "socket.receive.buffer.bytes",
        INT,
        102_400,
        AtLeast(-1),
        AT_START,
        "Size of the receive buffer of sockets; -1 leaves it to the operating system.",
    ),
    active(
        "socket.request.max.bytes",
        INT,
        104_857_600,
        AtLeast(1),
        AT_START,
        "Largest request. A connection that announces a larger one is closed.",
    ),
)

REQUESTS = (
    active(
        "queued.max.requests",
        INT,
        500,
        AtLeast(1),
        AT_START,
        "Requests that wait are bounded by their bytes: see queued.max.request.bytes.",
    ),
    active(
        "queued.max.request.bytes",
        LONG,
        -1,
        None,
        AT_START,
        "Bytes of requests that may be held before connections are read no further. -1 sets no limit. "
        "Otherwise at least socket.request.max.bytes.",
    ),
    active(
        "num.io.threads",
        INT,
        8,
        AtLeast(1),
        CLUSTER,
        "One event loop serves all requests. A change must stay between half and double the present value.",
    ),
    active(
        "fetch.max.bytes",
        INT,
        57_671_680,
        AtLeast(1024),
        AT_START,
        "Largest answer to one fetch, whatever the client asks for; a first batch that is larger is still sent whole.",
    ),
    active(
        "max.incremental.fetch.session.cache.slots",
        INT,
        1000,
        AtLeast(0),
        AT_START,
        "Fetch sessions that are kept (KIP-227).",
    ),
    active(
        "max.request.partition.size.limit",
        INT,
        2000,
        AtLeast(1),
        AT_START,
        "Partitions in one answer to DescribeTopicPartitions.",
    ),
)

WITHOUT_EFFECT = (
    *inert(
        "One event loop serves all connections.",
        ("num.network.threads", INT, 3, AtLeast(1), CLUSTER),
        ("background.threads", INT, 10, AtLeast(1), CLUSTER),
    ),
    *inert(
        "Requests that wait are removed the moment they are answered.",
        ("fetch.purgatory.purge.interval.requests", INT, 1000, None, AT_START),
        ("producer.purgatory.purge.interval.requests", INT, 1000, None, AT_START),
        ("delete.records.purgatory.purge.interval.requests", INT, 1, None, AT_START),
    ),
    *inert(
        "The broker opens no connections of its own.",
        ("socket.connection.setup.timeout.ms", LONG, 10_000, None, AT_START),
        ("socket.connection.setup.timeout.max.ms", LONG, 30_000, None, AT_START),
        ("request.timeout.ms", INT, 30_000, None, AT_START),
        ("control.plane.listener.name", STRING, None, None, AT_START),
        ("early.start.listeners", STRING, None, None, AT_START),
    ),
)

KEYS = LISTENERS + CONNECTIONS + SOCKETS + REQUESTS + WITHOUT_EFFECT
