"""An answer that could not be encoded came after its effect: a record was there, and its producer sent it again.

Every number of every response is here with where it comes from: a constant of the code, a copy of what was checked
where it came in, or a result, with the test that holds its ends. A field that nobody has put here fails.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from stepdown.protocol.api import API
from stepdown.protocol.primitives import Primitive
from stepdown.protocol.schema import schema_of

TESTS = Path(__file__).parents[1]
NUMBERS = {
    Primitive.INT8,
    Primitive.INT16,
    Primitive.UINT16,
    Primitive.INT32,
    Primitive.INT64,
    Primitive.FLOAT64,
}

CONSTANTS = """
    error_code partition_error_code topic_config_error_code
    api_key min_version max_version min_version_level max_version_level
    resource_type pattern_type operation permission_type mechanism endpoint_type member_type
    config_source source config_type accepted_compression_types preferred_read_replica
    topic_authorized_operations cluster_authorized_operations authorized_operations
    Fetch.responses.partitions.diverging_epoch.epoch Fetch.responses.partitions.diverging_epoch.end_offset
    Fetch.responses.partitions.snapshot_id.epoch Fetch.responses.partitions.snapshot_id.end_offset
    session_id
"""
"""Codes, versions and sets of flags that the code names, defaults, and what is drawn from 31 bits."""

COPIES = """
    index partition partition_index partition_id partitions
    node_id broker_id leader_id controller_id replica_id port
    replica_nodes isr_nodes offline_replicas eligible_leader_replicas last_known_elr
    replicas adding_replicas removing_replicas
    num_partitions replication_factor
    batch_index committed_offset committed_leader_epoch
    iterations transaction_timeout_ms heartbeat_interval_ms push_interval_ms telemetry_max_bytes subscription_id
    DescribeClientQuotas.entries.values.value
    OffsetForLeaderEpoch.topics.partitions.leader_epoch
    WriteTxnMarkers.markers.producer_id
    ListTransactions.transaction_states.producer_id
    DescribeTransactions.transaction_states.producer_id
    Fetch.responses.partitions.aborted_transactions.producer_id
    DescribeProducers.topics.partitions.active_producers.producer_id
    DescribeProducers.topics.partitions.active_producers.producer_epoch
    DescribeProducers.topics.partitions.active_producers.coordinator_epoch
    DescribeProducers.topics.partitions.active_producers.last_timestamp
"""
"""Of a request, a setting or a file, all of the same type: what is wider is refused where it is read."""

COUNTED = """
    leader_epoch base_offset log_start_offset high_watermark last_stable_offset first_offset low_watermark
    offset end_offset log_end_offset old_style_offsets current_txn_start_offset partition_size offset_lag
    timestamp log_append_time_ms transaction_start_time_ms last_fetch_timestamp last_caught_up_timestamp
"""
"""Offsets, epochs and sizes; times of the broker's clock, which moves by a hundred years at most, or of records, which
wrap as in Java."""

STATES = "fault/test_states_at_their_ends.py::"
QUOTAS = "fault/test_numbers_at_their_ends.py::"
HELD_BY = {
    "throttle_time_ms": f"{QUOTAS}test_answers_are_encoded_under_the_smallest_and_the_largest_quotas",
    "session_lifetime_ms": "unit/network/sasl/test_oauthbearer.py::test_times_of_a_token_have_bounds",
    "generation_id": f"{STATES}test_a_generation_goes_on_below_zero_as_in_kafka",
    "member_epoch": f"{STATES}test_a_group_at_its_last_epoch_takes_no_member",
    "group_epoch": f"{STATES}test_a_group_at_its_last_epoch_takes_no_member",
    "assignment_epoch": f"{STATES}test_a_group_at_its_last_epoch_takes_no_member",
    "producer_id": f"{STATES}test_no_producer_id_is_left",
    "producer_epoch": f"{STATES}test_a_producer_of_the_last_epoch_is_aborted",
    "finalized_features_epoch": f"{STATES}test_a_log_of_metadata_at_its_last_epoch",
    "total_bytes": "unit/storage/files/test_files.py::test_the_space_of_a_file_system_has_a_bound",
    "usable_bytes": "unit/storage/files/test_files.py::test_the_space_of_a_file_system_has_a_bound",
    "last_sequence": "unit/storage/producers/test_idempotence.py::"
    "test_a_batch_across_the_last_sequence_is_followed_by_what_is_left",
} | dict.fromkeys(COUNTED.split(), f"{STATES}test_every_answer_about_states_at_their_ends_is_encoded")
"""What is counted, added to or taken from something, by the test that has it at the end of its type."""


def numbers(cls: type, path: str) -> Iterator[str]:
    """The fields of a message that hold numbers, with the names of those that they lie in."""
    for part in schema_of(cls).fields:
        if part.kind in NUMBERS or part.item in NUMBERS:
            yield f"{path}.{part.name}"
        elif part.element is not None:
            yield from numbers(part.element, f"{path}.{part.name}")


FIELDS = tuple(path for spec in API.values() for path in numbers(spec.response, spec.name))
KNOWN = {*CONSTANTS.split(), *COPIES.split(), *HELD_BY}


def entry_of(path: str) -> str | None:
    """What the tables have of the field: by its path, or by its name where that says enough."""
    return next((each for each in (path, path.rpartition(".")[2]) if each in KNOWN), None)


def test_it_is_known_of_every_number_of_a_response_where_it_comes_from() -> None:
    assert [path for path in FIELDS if entry_of(path) is None] == []


def test_nothing_is_said_of_fields_that_are_not_there() -> None:
    assert KNOWN - {entry_of(path) for path in FIELDS} == set()


def test_no_field_is_in_two_tables() -> None:
    assert len(KNOWN) == len(CONSTANTS.split()) + len(COPIES.split()) + len(HELD_BY)


@pytest.mark.parametrize("held_by", sorted(set(HELD_BY.values())))
def test_what_holds_the_ends_of_a_result_is_there(held_by: str) -> None:
    path, _, name = held_by.partition("::")
    assert f"def {name}(" in (TESTS / path).read_text()
