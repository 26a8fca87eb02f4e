"""The broker keys that are stepdown's own."""

from __future__ import annotations

from ..keys.key import AT_START, BOOLEAN, CLUSTER, INT, LONG, PASSWORD, STRING, active
from ..keys.value_checks import AtLeast, Matching, OneOf

RELEASES = ("0.10.2", "1.1", "2.8", "3.9", "4.0", "4.1", "4.4")
"""The releases that a broker may act as."""
TOPIC = r"[A-Za-z0-9._-]+(:[0-9]{1,9}){0,2}"

KEYS = (
    active(
        "stepdown.downconversion.chunk.bytes",
        INT,
        229_376,
        AtLeast(1024),
        CLUSTER,
        "Stored bytes that are converted at a time for an old client; at least one batch, and of several no more than "
        "262144.",
    ),
    active(
        "stepdown.request.memory.bytes",
        LONG,
        50_331_648,
        AtLeast(1),
        AT_START,
        "Memory for requests of more than 32 KiB that have not come whole yet, over all connections, where "
        "queued.max.request.bytes sets no limit. One larger than that passes alone. Beside it a quarter as much is for "
        "what is read ahead, and a quarter, for a second a half, for smaller requests that have not come whole.",
    ),
    active(
        "stepdown.request.min.bytes.per.second",
        INT,
        65_536,
        AtLeast(0),
        CLUSTER,
        "While others wait for request memory, connections that send their request more slowly than this, or so slowly "
        "that it would take more than 10 s, are closed: the slowest first. Every request has a second.",
    ),
    active(
        "stepdown.request.max.bytes",
        INT,
        33_554_432,
        AtLeast(1_048_576),
        CLUSTER,
        "Largest request that is not a Produce, where socket.request.max.bytes allows more. The connection of a larger "
        "one is closed.",
    ),
    active(
        "stepdown.max.connections.before.request",
        INT,
        1_000,
        AtLeast(1),
        CLUSTER,
        "Connections that have sent no request yet, or are in their login. Above it, connections of the address that "
        "has most are closed, the ones idle longest first.",
    ),
    active(
        "stepdown.max.partitions",
        INT,
        2_147_483_647,
        AtLeast(1),
        AT_START,
        "Partitions of all topics above which none is created, but for internal topics: POLICY_VIOLATION. Those that "
        "are there at the start are served. Under a small memory limit the default is how many it has room for.",
    ),
    active(
        "stepdown.request.max.items",
        INT,
        100_000,
        AtLeast(1_000),
        CLUSTER,
        "Items that all arrays of a request have at most, such as topics and partitions; requests that are handled in "
        "one go have 20000 or 5000 at most. Above it the answer is INVALID_REQUEST where the API has an error for the "
        "whole request, else the connection is closed.",
    ),
    active(
        "stepdown.conversion.memory.bytes",
        LONG,
        33_554_432,
        AtLeast(1_048_576),
        AT_START,
        "Memory for converting and decompressing, over all connections: half of it for buffers, half for what comes "
        "with them. Work beyond it waits for its turn; one chunk is always let through.",
    ),
    active(
        "stepdown.downconversion.zstd",
        STRING,
        "error",
        OneOf(("error", "gzip", "snappy", "lz4", "none")),
        CLUSTER,
        "What clients get that fetch a zstd batch with a version older than 4, for whom it has to be converted: error "
        "is Kafka's answer, UNSUPPORTED_COMPRESSION_TYPE; a codec, or none, is what the batch is converted to.",
    ),
    active(
        "stepdown.decompression.max.bytes",
        LONG,
        268_435_456,
        AtLeast(1_048_576),
        AT_START,
        "Largest decompressed size of one produced batch; a larger one is answered MESSAGE_TOO_LARGE.",
    ),
    active(
        "stepdown.http.listen",
        STRING,
        "127.0.0.1:0",
        Matching(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/\s]*):[0-9]{1,5}", "HOST:PORT"),
        AT_START,
        "Address of /metrics, /healthz, /readyz, /clients and the page; port 0 is a free one, which the broker names "
        "when it is ready.",
    ),
    active(
        "stepdown.page.enabled",
        BOOLEAN,
        True,
        None,
        AT_START,
        "Whether the HTTP port has the page for people at / and its JSON below /api/. It shows topics, records, groups "
        "and clients to loopback addresses.",
    ),
    active(
        "stepdown.page.password",
        PASSWORD,
        None,
        None,
        AT_START,
        "Who gives it sees the page from any address, under any user name; then loopback addresses have to give it, "
        "too. It is sent as it is: put TLS before the port.",
    ),
    active(
        "stepdown.page.produce",
        BOOLEAN,
        False,
        None,
        AT_START,
        "Whether who sees the page may write single records by it. Access rules of users do not count there.",
    ),
    active(
        "stepdown.client.report.max.clients",
        INT,
        1_000,
        AtLeast(1),
        AT_START,
        "Clients that the report of /clients remembers, each by its address, principal, client id and software. A new "
        "one takes the place of one that has been silent for long.",
    ),
    active(
        "stepdown.client.report.file",
        STRING,
        None,
        None,
        AT_START,
        "File that the report of clients is written to once a minute, and at the end, as JSON. In a cluster the id of "
        "the broker comes after its name.",
    ),
    active(
        "stepdown.topics",
        STRING,
        "",
        Matching(rf"({TOPIC}(,\s*{TOPIC})*)?", "NAME:PARTITIONS:REPLICAS,NAME:PARTITIONS,NAME"),
        AT_START,
        "Topics to make at the start where they are missing, as NAME:PARTITIONS:REPLICAS, separated by commas. A "
        "number that is left out is num.partitions, or default.replication.factor.",
    ),
    active(
        "stepdown.act.as",
        STRING,
        None,
        OneOf(RELEASES),
        AT_START,
        "Release of Kafka to act as, for tests of clients: its request versions, refusals, features and defaults "
        "(docs/act-as.md). Absent: everything that this broker can.",
    ),
    active(
        "stepdown.control.listen",
        STRING,
        None,
        Matching(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/\s]*):[0-9]{1,5}", "HOST:PORT"),
        AT_START,
        "Address of the control port, for tests: faults, the clock, the log of requests. Absent: there is none. It is a"
        " loopback address unless stepdown.control.token is set.",
    ),
    active(
        "stepdown.control.token",
        PASSWORD,
        None,
        None,
        AT_START,
        "What who uses the control port has to send, as Authorization: Bearer.",
    ),
    active(
        "stepdown.authentication.timeout.ms",
        INT,
        30_000,
        AtLeast(1),
        AT_START,
        "Time that a client has for the TLS handshake and for SASL, both together; then it is hung up on.",
    ),
    active(
        "stepdown.oauthbearer.any.audience",
        BOOLEAN,
        False,
        None,
        AT_START,
        "OAUTHBEARER takes tokens that the issuer made for any service, not only for this broker. Without it "
        "sasl.oauthbearer.expected.audience has to be set.",
        attribute="",
    ),
    active(
        "stepdown.oauthbearer.unsecured",
        BOOLEAN,
        False,
        None,
        AT_START,
        "For tests only: OAUTHBEARER takes any token, also one that nobody has signed, and says so at every start.",
        attribute="",
    ),
    active(
        "stepdown.shutdown.grace.ms",
        LONG,
        10_000,
        AtLeast(0),
        AT_START,
        "Time that requests in flight have to finish once the broker has to stop.",
    ),
    active(
        "stepdown.cluster.id",
        STRING,
        None,
        Matching(r"[A-Za-z0-9_.-]{1,64}", "MkU3OEVBNTcwNTJENDM2Qg"),
        AT_START,
        "Id of the cluster, written to new log directories; must match that of existing ones. Absent: theirs, or a "
        "new one. The environment variable CLUSTER_ID of Kafka's image sets it too.",
    ),
)
