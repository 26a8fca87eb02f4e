"""Spark's Kafka connector: its options to read and write, whether brokers can be reached, what its errors say."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from .failures import BadUsage, PipelineFailure

_KAFKA_SAYS = re.compile(r"org\.apache\.kafka\.common\.(?:errors\.\w+|KafkaException): (.+)")
CONNECT_TIMEOUT_S = 5.0
MAX_BLOCK_MS = 10_000
"""How long a writer waits for a topic and its partitions to be there."""


def read_options(
    bootstrap: str, topics: str | None = None, *, headers: bool = True, isolation_level: str = "read_uncommitted"
) -> dict[str, str]:
    """Options of `format("kafka")` to read from the earliest offset on, all topics but internal ones by default."""
    chosen = {"subscribePattern": "(?!__).*"} if topics is None else {"subscribe": topics}
    return {
        "kafka.bootstrap.servers": bootstrap,
        "startingOffsets": "earliest",
        "includeHeaders": str(headers).lower(),
        "kafka.isolation.level": isolation_level,
        **chosen,
    }


def write_options(bootstrap: str, *, codec: str = "none", idempotent: bool = True) -> dict[str, str]:
    """Options of `format("kafka")` to write. Brokers that know Produce 2 at most need `idempotent=False`."""
    return {
        "kafka.bootstrap.servers": bootstrap,
        "kafka.compression.type": codec,
        "kafka.enable.idempotence": str(idempotent).lower(),
        "kafka.max.block.ms": str(MAX_BLOCK_MS),
    }


def check_one_address_listens(bootstrap: str) -> None:
    """Return when one of the addresses takes connections; Kafka's client would try for minutes.

    Raises: BadUsage for what is no address, PipelineFailure when nobody listens.
    """
    reasons: list[str] = []
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        if not host or not port.isdecimal():
            raise BadUsage(f"expected HOST:PORT, found {address!r}")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT_S):
                return
        except OSError as fault:
            reasons.append(f"{address.strip()}: {fault.strerror or fault}")
    raise PipelineFailure(f"no broker listens at {'; '.join(reasons)}")


@contextmanager
def one_line_kafka_errors() -> Iterator[None]:
    """Turn what Kafka's client says inside Spark's errors into one line. Raises: PipelineFailure."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        found = _KAFKA_SAYS.findall(str(error))
        if not found:
            raise
        raise PipelineFailure(f"Kafka's client says: {found[-1].strip()}") from error
