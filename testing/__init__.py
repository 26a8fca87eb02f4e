"""Brokers for tests: settings come in, a broker in the test's own process goes out, and what a test asks of it.

    with stepdown.running() as kafka:
        kafka.produce("orders", b"one")
        assert [record.value for record in kafka.records("orders")] == [b"one"]

`running` starts one, `Kafka` is what a test holds, `AsyncKafka` the same awaited; the pytest plugin has fixtures.
"""

from ..broker.faults.request_hook import CLOSE, PASS, SILENCE, HookedRequest
from .async_kafka import AsyncKafka
from .kafka import Kafka
from .record_comparison import TestRecord
from .running import Running, running

__all__ = ["CLOSE", "PASS", "SILENCE", "AsyncKafka", "HookedRequest", "Kafka", "Running", "TestRecord", "running"]
