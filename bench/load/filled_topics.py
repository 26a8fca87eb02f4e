"""Topics on the server under load: made, filled through Produce as a client would fill them, and deleted."""

from ...client.operations.topics import NewTopic, create_topics, delete_topics
from ...protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ..failures import BenchFailure
from ..servers.admin_connection import REQUEST_TIMEOUT_MS, Connection, change
from ..servers.process import wait_until
from .load_plan import Asking, ConnectionRequests, LoadPlan
from .process import LoadProcess
from .produce_and_fetch_requests import Filling, produce_error_at, produce_frames

LIST_VERSION = 1
USUAL_LARGEST_BATCH = 1_048_588
FILL_IN_FLIGHT = 5
MOST_PREPARED_BYTES = 64 << 20
LATEST = -1


def largest_batch(opened_bytes: int) -> int:
    """The `max.message.bytes` of a topic for batches of `opened_bytes`."""
    return max(USUAL_LARGEST_BATCH, 2 * opened_bytes)


def create_topic(address: str, name: str, partitions: int, configs: dict[str, str] | None = None) -> None:
    """Returns when each partition has a leader that answers."""
    topic = NewTopic(name=name, partitions=partitions, replication_factor=1, configs=configs or {})
    change(address, create_topics([topic], timeout_ms=REQUEST_TIMEOUT_MS))
    await_leaders(address, name, partitions)


def await_leaders(address: str, name: str, partitions: int) -> None:
    """Returns when each partition has a leader that answers."""
    with Connection(address) as connection:
        wait_until(lambda: _has_leaders(connection, name, partitions), f"{name} has leaders", timeout_s=60)


def delete_topic(address: str, name: str, *, may_be_missing: bool = False) -> None:
    """Returns when the topic is gone."""
    accepted = ("UNKNOWN_TOPIC_OR_PARTITION",) if may_be_missing else ()
    change(address, delete_topics([name], timeout_ms=REQUEST_TIMEOUT_MS), accepted=accepted)


def fill(address: str, name: str, filling: Filling, load: LoadProcess) -> None:
    """Creates a topic that takes its batches, deletes it before if it is there, and writes its records."""
    delete_topic(address, name, may_be_missing=True)
    create_topic(address, name, filling.partitions, {"max.message.bytes": str(largest_batch(filling.batch_bytes))})
    write_records(address, name, filling, load)


def write_records(address: str, name: str, filling: Filling, load: LoadProcess) -> None:
    """Writes the records of a topic that is there."""
    round_bytes = filling.partitions * filling.records_a_batch * filling.record_bytes
    rounds = min(filling.batches, filling.different_batches, max(1, MOST_PREPARED_BYTES // round_bytes))
    requests = produce_frames(name, filling, rounds)
    connection = ConnectionRequests(requests=tuple(requests), in_flight=FILL_IN_FLIGHT, error_at=produce_error_at(name))
    wanted = filling.batches * filling.partitions
    asking = Asking(kind="produce", client=f"produce-v{filling.produce_version}", partitions=1)
    result = load.run(LoadPlan(address=address, connections=(connection,), asking=asking, responses=wanted))
    if result.errors or result.responses != wanted:
        raise BenchFailure(f"{result.errors} of {wanted} produce requests to {name} at {address} were refused")


def _has_leaders(connection: Connection, name: str, partitions: int) -> bool:
    asked = tuple(ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in range(partitions))
    request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=name, partitions=asked),))
    answer = connection.call(request, LIST_VERSION)
    return all(partition.error_code == 0 for topic in answer.topics for partition in topic.partitions)
