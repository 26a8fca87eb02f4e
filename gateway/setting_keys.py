"""The names of the gateway's settings, with their types and defaults; `settings.py` reads them."""

from ..client.security.settings import PROTOCOLS
from ..config.keys.key import AT_START, INT, LIST, LONG, STRING, Key, active
from ..config.keys.value_checks import AtLeast, Between, BetweenOr, OneOf

LISTENER = "GATEWAY"
"""The name of the listener in Kafka's settings, such as `listener.name.gateway.plain.sasl.jaas.config`."""
UPSTREAM = "upstream."
LOGINS = "logins."
"""Logins to the cluster for some clients: `logins.NAME.clients`, and `logins.NAME.sasl.*` as of Kafka's clients."""
VARIABLES = "STEPDOWN_GATEWAY_"
WITHOUT_STORE = frozenset(("PLAIN", "OAUTHBEARER"))
"""Mechanisms of clients that log in to the gateway itself."""
PORTS, SINGLE, SNI = "ports", "single", "sni"
AUTO = "auto"
MOST_WORKERS = 64
LEAST_ANSWER_MEMORY_BYTES = 1_048_576
OFF, OPTIONAL, REQUIRED = "off", "optional", "required"
NETWORK = (
    *("connections.", "listener.name.gateway.", "max.connections", "sasl.", "socket.", "ssl."),
    *("stepdown.authentication.", "stepdown.client.report.max.clients", "stepdown.downconversion.zstd"),
    *("stepdown.max.connections.", "stepdown.page.enabled", "stepdown.page.password", "stepdown.request."),
)
"""Kafka's and stepdown's settings for brokers that the gateway takes too, by how their names begin."""

KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        active("listen", STRING, "127.0.0.1:9092", None, AT_START, "Address of the bootstrap port; 0 picks one."),
        active("http", STRING, "127.0.0.1:0", None, AT_START, "Address of /metrics, /healthz, /readyz and the page."),
        active(
            "upstream.bootstrap.servers",
            LIST,
            (),
            None,
            AT_START,
            "Brokers of the cluster, HOST:PORT each. The next one is asked when one is down.",
        ),
        active(
            "advertised.host",
            STRING,
            "",
            None,
            AT_START,
            "The host that clients connect to; that of `listen` unless it is given.",
        ),
        active(
            "advertised.port",
            INT,
            0,
            Between(0, 65_535),
            AT_START,
            "The port that clients connect to where all brokers have one; that of `listen` unless it is given.",
        ),
        active(
            "addresses",
            STRING,
            PORTS,
            OneOf((PORTS, SINGLE, SNI)),
            AT_START,
            "ports: each broker has a port. single: all have the address of the bootstrap port, and the gateway sends "
            "each request to the broker that it is for. sni: all have its port, and a host name each, by which TLS "
            "says the broker.",
        ),
        active(
            "broker.host",
            STRING,
            "",
            None,
            AT_START,
            "With sni: the host name of each broker, with {id} where its id stands, such as broker-{id}.kafka.example.",
        ),
        active(
            "proxy.protocol",
            STRING,
            OFF,
            OneOf((OFF, OPTIONAL, REQUIRED)),
            AT_START,
            "Whether connections begin with a PROXY header (version 1 or 2) of a balancer in front, which says whose "
            "they are.",
        ),
        active(
            "first.port",
            INT,
            -1,
            BetweenOr(0, 65_535, -1),
            AT_START,
            "Broker N is reached at this port + N. -1: the port after that of `listen`. 0: any free port for each.",
        ),
        active(
            "brokers",
            LIST,
            (),
            None,
            AT_START,
            "Brokers that are known before a client asks, ID=HOST:PORT each. Needed where the gateway cannot ask "
            "the cluster itself: clients log in to the cluster, and the gateway has no login of its own.",
        ),
        active(
            "authentication",
            STRING,
            "relay",
            OneOf(("relay", "swap")),
            AT_START,
            "relay: clients log in to the cluster, through the gateway. swap: the gateway logs in by upstream.sasl.*, "
            "and clients log in to the gateway, if security.protocol says so.",
        ),
        active("security.protocol", STRING, "PLAINTEXT", OneOf(PROTOCOLS), AT_START, "What clients speak here."),
        active(
            "allow",
            LIST,
            (),
            None,
            AT_START,
            "Addresses that may connect, NETWORK or NETWORK until YYYY-MM-DD each; all where nothing is named.",
        ),
        active(
            "workers",
            STRING,
            "1",
            None,
            AT_START,
            "Processes that serve clients at the same ports: a number, or auto for one on each processor.",
        ),
        active(
            "report",
            STRING,
            "",
            None,
            AT_START,
            "A file that gets the client report once a minute, as /clients shows it.",
        ),
        active(
            "refresh.interval.ms", LONG, 10_000, AtLeast(100), AT_START, "How often the cluster is asked for brokers."
        ),
        active(
            "drain.timeout.ms", LONG, 30_000, AtLeast(0), AT_START, "For how long requests are answered after SIGTERM."
        ),
        active(
            "answer.memory.bytes",
            LONG,
            33_554_432,
            AtLeast(LEAST_ANSWER_MEMORY_BYTES),
            AT_START,
            "Memory for answers that have to be held as a whole, over all connections; who comes later waits.",
        ),
    )
}
