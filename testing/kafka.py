"""The blocking handle by which a test uses brokers; same methods as `AsyncKafka`."""

from .async_kafka import AsyncKafka
from .blocking_front import BlockingFront, blocking
from .clock import Clock
from .cluster import Cluster
from .control_client import BlockingControl
from .faults import Faults
from .loop_thread import LoopThread
from .received_requests import Requests
from .security.client_settings import ClientSettings


class Kafka(BlockingFront[AsyncKafka]):
    """A running broker or cluster: `bootstrap`, `clients`, `faults`, `clock`, `requests`, `cluster`, `page`, `control`
    and `has_control` are those of `AsyncKafka`, which is `awaited`.

    Methods may be called from any thread. Raises: KafkaError with the broker's error code, AssertionError from
    `assert_…` and `wait_for_…`.
    """

    def __init__(self, awaited: AsyncKafka, thread: LoopThread) -> None:
        """`thread` runs the loop of the connections."""
        super().__init__(awaited, thread)
        self.faults, self.clock = Faults(awaited.faults, thread), Clock(awaited.clock, thread)
        self.requests, self.cluster = Requests(awaited.requests, thread), Cluster(awaited.cluster, thread)
        self.control = BlockingControl(awaited.control, thread)

    @property
    def bootstrap(self) -> str:
        """The addresses for clients."""
        return self.awaited.bootstrap

    @property
    def page(self) -> str:
        """The URL of the first broker's page."""
        return self.awaited.page

    @property
    def clients(self) -> ClientSettings:
        """Complete settings for clients."""
        return self.awaited.clients

    @property
    def has_control(self) -> bool:
        """Whether there is a control port, or brokers in this process."""
        return self.awaited.has_control

    close = blocking(AsyncKafka.close)
    create_topic = blocking(AsyncKafka.create_topic)
    produce = blocking(AsyncKafka.produce)
    records = blocking(AsyncKafka.records)
    wait_for_records = blocking(AsyncKafka.wait_for_records)
    assert_produces = blocking(AsyncKafka.assert_produces)
    delete_topic = blocking(AsyncKafka.delete_topic)
    reset = blocking(AsyncKafka.reset)
    end_test = blocking(AsyncKafka.end_test)
    partition = blocking(AsyncKafka.partition)
    wait_for_leader = blocking(AsyncKafka.wait_for_leader)
    wait_for_isr = blocking(AsyncKafka.wait_for_isr)
    wait_for_epoch = blocking(AsyncKafka.wait_for_epoch)
    wait_for_log_end = blocking(AsyncKafka.wait_for_log_end)
    wait_for_high_watermark = blocking(AsyncKafka.wait_for_high_watermark)
    controller = blocking(AsyncKafka.controller)
    wait_for_controller = blocking(AsyncKafka.wait_for_controller)
    coordinator = blocking(AsyncKafka.coordinator)
    wait_for_coordinator = blocking(AsyncKafka.wait_for_coordinator)
    committed = blocking(AsyncKafka.committed)
    group = blocking(AsyncKafka.group)
    delete_group = blocking(AsyncKafka.delete_group)
    wait_for_group = blocking(AsyncKafka.wait_for_group)
    wait_for_consumers = blocking(AsyncKafka.wait_for_consumers)
    offset_lag = blocking(AsyncKafka.offset_lag)
    wait_for_offset_lag = blocking(AsyncKafka.wait_for_offset_lag)
