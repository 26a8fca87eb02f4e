"""The settings of a producer: Kafka's keys, with Kafka's defaults and ranges, to one frozen value.

Source: Kafka 3.9, ProducerConfig and KafkaProducer. Rules that join settings:

    delivery.timeout.ms >= linger.ms + request.timeout.ms   given: an error; not given: raised    (in KIP-91's text
                                                            with retry.backoff.ms, and up to 2^63-1)
    idempotence needs acks=all, retries > 0, in flight <= 5 asked for: an error; default: switched off
    transactional.id needs idempotence
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from ssl import SSLContext
from typing import TypeAlias

from ..client.security import settings as security_settings
from ..client.security.settings import SecuritySettings, TokenProvider, make_security_settings
from ..config.errors import ConfigError, Problem
from ..config.keys.endpoints import HostPort, parse_host_port
from ..config.keys.key import AT_START, BOOLEAN, CLASS, INT, LIST, LONG, MAX_INT, MAX_LONG, STRING, Key, active
from ..config.keys.value_checks import AtLeast, Between, BetweenOr, Check, Matching, OneOf
from ..config.keys.value_types import Value, ValueType, render
from ..config.similar_names import nearest
from ..protocol.records.layout import Codec
from .partitioners.partitioner import BY_NAME, Partitioner

Setting: TypeAlias = Value | Partitioner | Callable[..., object] | None
MAX_IDEMPOTENT_IN_FLIGHT = 5
MAX_WAIT_MS = MAX_LONG // 2  # the end of such a wait still fits 64 bits
SHORT_NAMES = {"compression": "compression.type", "bootstrap": "bootstrap.servers", "partitioner": "partitioner.class"}


def _make_key(name: str, kind: ValueType, default: Value | None, check: Check | None, doc: str) -> Key:
    return active(name, kind, default, check, AT_START, doc)


AT_LEAST_0 = AtLeast(0)
NOT_EMPTY = Matching(r"(?s).+", "orders-1")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CODEC_MODULES = {"gzip": "isal", "snappy": "snappy", "lz4": "lz4", "zstd": "zstandard"}
KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        _make_key("bootstrap.servers", LIST, (), None, "Brokers to ask first, as host:port."),
        _make_key("client.id", STRING, "", None, "The name that brokers see; producer-1 and so on unless given."),
        _make_key("acks", STRING, "all", OneOf(("all", "-1", "0", "1")), "Who must have a record before it counts."),
        _make_key("batch.size", INT, 16384, AT_LEAST_0, "Bytes of a batch; 0 puts each record into its own."),
        _make_key("linger.ms", LONG, 0, AT_LEAST_0, "How long a batch waits for more records, from its creation."),
        _make_key("buffer.memory", LONG, 33554432, AT_LEAST_0, "Bytes of all batches that are not acknowledged."),
        _make_key("max.block.ms", LONG, 60000, AT_LEAST_0, "How long a send waits for metadata and memory."),
        _make_key("max.request.size", INT, 1048576, AT_LEAST_0, "Bytes of one record uncompressed, and of a request."),
        _make_key("request.timeout.ms", INT, 30000, AT_LEAST_0, "How long an answer may take."),
        _make_key(
            "delivery.timeout.ms", LONG, 120000, AT_LEAST_0, "How long after its batch began a record may be open."
        ),
        _make_key("retries", INT, MAX_INT, Between(0, MAX_INT), "How often a batch is sent again."),
        _make_key("retry.backoff.ms", LONG, 100, AT_LEAST_0, "The wait before the first retry; it doubles."),
        _make_key("retry.backoff.max.ms", LONG, 1000, AT_LEAST_0, "The longest wait before a retry."),
        _make_key("reconnect.backoff.ms", LONG, 50, AT_LEAST_0, "The wait before connecting again; it doubles."),
        _make_key("reconnect.backoff.max.ms", LONG, 1000, AT_LEAST_0, "The longest wait before connecting again."),
        _make_key("socket.connection.setup.timeout.ms", LONG, 10000, AT_LEAST_0, "How long connecting may take."),
        _make_key(
            "max.in.flight.requests.per.connection", INT, 5, AtLeast(1), "Requests without answer on a connection."
        ),
        _make_key("enable.idempotence", BOOLEAN, True, None, "Whether brokers drop what a retry repeats."),
        _make_key(
            "transactional.id", STRING, None, NOT_EMPTY, "The name under which transactions outlive the process."
        ),
        _make_key("transaction.timeout.ms", INT, 60000, None, "When the coordinator aborts a transaction by itself."),
        _make_key("compression.type", STRING, "none", OneOf(CODECS), "The codec of batches."),
        _make_key("compression.gzip.level", INT, -1, BetweenOr(1, 9, -1), "The level of gzip; -1 is its default."),
        _make_key("compression.lz4.level", INT, 9, Between(1, 17), "The level of lz4."),
        _make_key("compression.zstd.level", INT, 3, Between(-131072, 22), "The level of zstd."),
        _make_key("partitioner.class", CLASS, None, None, "sticky, uniform-sticky, round-robin or an object."),
        _make_key(
            "partitioner.adaptive.partitioning.enable", BOOLEAN, True, None, "Prefer partitions with short queues."
        ),
        _make_key(
            "partitioner.availability.timeout.ms", LONG, 0, AT_LEAST_0, "Leave out brokers that stall for so long."
        ),
        _make_key("partitioner.ignore.keys", BOOLEAN, False, None, "Let the built-in partitioner choose for keys too."),
        _make_key("metadata.max.age.ms", LONG, 300000, AT_LEAST_0, "How old metadata may get."),
        _make_key(
            "metadata.max.idle.ms", LONG, 300000, AtLeast(5000), "When a topic is forgotten that gets no records."
        ),
        _make_key("connections.max.idle.ms", LONG, 540000, None, "When an idle connection is closed; below 0: never."),
    )
}
KEYS |= security_settings.KEYS
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """What a producer runs with. `acks` is -1, 0 or 1; `level` belongs to `codec`; `warnings` is for the log."""

    bootstrap_servers: tuple[HostPort, ...]
    client_id: str
    acks: int
    batch_size: int
    linger_ms: int
    buffer_memory: int
    max_block_ms: int
    max_request_size: int
    request_timeout_ms: int
    delivery_timeout_ms: int
    retries: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    connect_timeout_ms: int
    max_in_flight: int
    security: SecuritySettings
    idempotent: bool
    transactional_id: str | None
    transaction_timeout_ms: int
    codec: Codec
    level: int | None
    partitioner: Partitioner | None
    adaptive: bool
    availability_timeout_ms: int
    ignore_keys: bool
    metadata_max_age_ms: int
    metadata_max_idle_ms: int
    connections_max_idle_ms: int
    warnings: tuple[str, ...] = field(default=())


def producer_settings(
    given: Mapping[str, Setting],
    *,
    ssl_context: SSLContext | None = None,
    token_provider: TokenProvider | None = None,
) -> ProducerSettings:
    """The settings of what was given, by Kafka's names or with `_` for `.`; the rest has its default.

    Raises: ConfigError with all that is wrong.
    """
    values, custom, problems = _read_values(given)
    if problems:
        raise ConfigError(problems)
    asked = set(values)
    values = {name: key.default for name, key in KEYS.items()} | values
    warnings: list[str] = []
    servers, problems = _parse_addresses(values["bootstrap.servers"])
    idempotent = _decide_idempotence(values, asked, problems, warnings)
    if values["transactional.id"] is not None and not idempotent:
        problems.append(Problem(key="transactional.id", expected="transactions need idempotence"))
    delivery_timeout_ms = _decide_delivery_timeout(values, asked, problems, warnings)
    _check_memory(values, problems)
    _check_for_codec_module(values, problems)
    if custom is None and values["partitioner.class"]:
        custom = _parse_partitioner(str(values["partitioner.class"]), problems)
    security = make_security_settings(values, asked, problems, ssl_context=ssl_context, token_provider=token_provider)
    if problems:
        raise ConfigError(problems)
    return _make_settings(values, servers, security, idempotent, delivery_timeout_ms, custom, tuple(warnings))


def _read_values(given: Mapping[str, Setting]) -> tuple[dict[str, Value | None], Partitioner | None, list[Problem]]:
    values: dict[str, Value | None] = {}
    custom: Partitioner | None = None
    problems: list[Problem] = []
    for written, value in given.items():
        name = SHORT_NAMES.get(written, written.replace("_", "."))
        key = KEYS.get(name)
        if key is None:
            problems.append(
                Problem(key=written, expected="no producer has this setting", nearest=_describe_nearest(name))
            )
        elif name == "partitioner.class" and value is not None and not isinstance(value, str):
            if not all(callable(getattr(value, method, None)) for method in ("partition", "on_new_batch")):
                wanted = "expected an object with partition(view, key, value) and on_new_batch(view, previous)"
                problems.append(Problem(key=written, expected=wanted, found=type(value).__name__))
            custom = value  # type: ignore[assignment]  # a partitioner of the caller's own
        elif value is not None:
            try:
                values[name] = key.value_of(render(value) or "")  # type: ignore[arg-type]  # checked by its text
            except (ValueError, AttributeError):
                found = "" if key.sensitive else str(value)
                problems.append(Problem(key=written, expected=f"expected {key.expected}", found=found))
    return values, custom, problems


def _check_for_codec_module(values: dict[str, Value | None], problems: list[Problem]) -> None:
    """The producer's own distribution brings no codecs."""
    module = CODEC_MODULES.get(str(values["compression.type"]))
    if module is not None and find_spec(module) is None:
        wanted = f"expected {module} to be installed: pip install 'stepdown-producer[compression]'"
        problems.append(Problem(key="compression.type", expected=wanted, found=str(values["compression.type"])))


def _parse_addresses(servers: object) -> tuple[tuple[HostPort, ...], list[Problem]]:
    addresses, problems = [], []
    for text in servers if isinstance(servers, tuple) else ():
        try:
            addresses.append(parse_host_port(text))
        except ValueError:
            problems.append(Problem(key="bootstrap.servers", expected="expected host:port", found=text))
    if not addresses and not problems:
        problems.append(Problem(key="bootstrap.servers", expected="expected at least one host:port"))
    return tuple(addresses), problems


def _decide_idempotence(
    values: dict[str, Value | None], asked: set[str], problems: list[Problem], warnings: list[str]
) -> bool:
    if not values["enable.idempotence"]:
        return False
    conflicts = (
        ("retries", values["retries"] == 0, "more than 0"),
        ("acks", values["acks"] not in ("all", "-1"), "all"),
        (
            "max.in.flight.requests.per.connection",
            _number(values, "max.in.flight.requests.per.connection") > MAX_IDEMPOTENT_IN_FLIGHT,
            f"at most {MAX_IDEMPOTENT_IN_FLIGHT}",
        ),
    )
    found = [(name, wanted) for name, conflict, wanted in conflicts if conflict]
    if found and "enable.idempotence" in asked:
        problems.extend(
            Problem(key=name, expected=f"idempotence needs {wanted}", found=str(values[name])) for name, wanted in found
        )
    elif found:
        warnings.append(f"idempotence is off, because of {', '.join(name for name, _ in found)}")
    return not found


def _decide_delivery_timeout(
    values: dict[str, Value | None], asked: set[str], problems: list[Problem], warnings: list[str]
) -> int:
    timeout_ms = _number(values, "delivery.timeout.ms")
    least = _number(values, "linger.ms") + _number(values, "request.timeout.ms")
    terms = "linger.ms + request.timeout.ms"
    least = min(least, MAX_INT)
    if timeout_ms > MAX_INT:
        problems.append(Problem(key="delivery.timeout.ms", expected="expected a 32-bit integer", found=str(timeout_ms)))
    if timeout_ms >= least:
        return timeout_ms
    if "delivery.timeout.ms" in asked:
        wanted = f"expected at least {terms}, {least}"
        problems.append(Problem(key="delivery.timeout.ms", expected=wanted, found=str(timeout_ms)))
    else:
        warnings.append(f"delivery.timeout.ms is raised to {terms}, {least}")
    return least


def _check_memory(values: dict[str, Value | None], problems: list[Problem]) -> None:
    """Each batch is charged `batch.size` at least: no record would ever find that much (Kafka's `send` raises)."""
    memory, batch = _number(values, "buffer.memory"), max(1, _number(values, "batch.size"))
    if memory < batch:
        problems.append(
            Problem(key="buffer.memory", expected=f"expected at least batch.size, {batch}", found=str(memory))
        )


def _describe_nearest(name: str) -> str | None:
    """The setting that was probably meant: one that differs by letters, or the only one that has these words in it."""
    words = set(name.split("."))
    having = [key for key in KEYS if words <= set(key.split("."))]
    return nearest(name, KEYS) or (having[0] if len(having) == 1 else None)


def _number(values: dict[str, Value | None], name: str) -> int:
    value = values[name]
    assert isinstance(value, int)
    return value


def _parse_partitioner(name: str, problems: list[Problem]) -> Partitioner | None:
    if name not in BY_NAME:
        problems.append(Problem(key="partitioner.class", expected=f"expected one of {', '.join(BY_NAME)}", found=name))
        return None
    return BY_NAME[name]()


def _make_settings(
    values: dict[str, Value | None],
    servers: tuple[HostPort, ...],
    security: SecuritySettings,
    idempotent: bool,
    delivery_timeout_ms: int,
    custom: Partitioner | None,
    warnings: tuple[str, ...],
) -> ProducerSettings:
    codec = Codec[str(values["compression.type"]).upper()]
    level = values.get(f"compression.{codec.name.lower()}.level")
    transactional_id = None if values["transactional.id"] is None else str(values["transactional.id"])
    name = str(values["client.id"] or f"producer-{transactional_id or next(_NUMBERS)}")
    return ProducerSettings(
        bootstrap_servers=servers,
        client_id=name,
        acks=int(str(values["acks"]).replace("all", "-1")),
        batch_size=max(1, _number(values, "batch.size")),
        linger_ms=min(_number(values, "linger.ms"), MAX_INT),
        buffer_memory=_number(values, "buffer.memory"),
        max_block_ms=min(_number(values, "max.block.ms"), MAX_WAIT_MS),
        max_request_size=_number(values, "max.request.size"),
        request_timeout_ms=_number(values, "request.timeout.ms"),
        delivery_timeout_ms=delivery_timeout_ms,
        retries=_number(values, "retries"),
        retry_backoff_ms=_number(values, "retry.backoff.ms"),
        retry_backoff_max_ms=_number(values, "retry.backoff.max.ms"),
        reconnect_backoff_ms=_number(values, "reconnect.backoff.ms"),
        reconnect_backoff_max_ms=_number(values, "reconnect.backoff.max.ms"),
        connect_timeout_ms=_number(values, "socket.connection.setup.timeout.ms"),
        max_in_flight=_number(values, "max.in.flight.requests.per.connection"),
        security=security,
        idempotent=idempotent,
        transactional_id=transactional_id,
        transaction_timeout_ms=_number(values, "transaction.timeout.ms"),
        codec=codec,
        level=level if isinstance(level, int) else None,
        partitioner=custom,
        adaptive=bool(values["partitioner.adaptive.partitioning.enable"]),
        availability_timeout_ms=_number(values, "partitioner.availability.timeout.ms"),
        ignore_keys=bool(values["partitioner.ignore.keys"]),
        metadata_max_age_ms=_number(values, "metadata.max.age.ms"),
        metadata_max_idle_ms=_number(values, "metadata.max.idle.ms"),
        connections_max_idle_ms=_number(values, "connections.max.idle.ms"),
        warnings=warnings,
    )
