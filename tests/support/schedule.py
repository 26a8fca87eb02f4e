"""Which worker of pytest-xdist runs which tests, and which begin first.

A file's tests stay together. Files of LONGEST begin first, so that no worker waits at the end for one that came late.
"""

from pathlib import Path

from xdist.scheduler import LoadFileScheduling

TESTS = Path(__file__).parents[1]

LONGEST = (
    "interop/test_compaction_directories.py",
    "interop/test_migration_cluster.py",
    "interop/test_migration.py",
    "differential/test_gateway_against_kafka.py",
    "interop/test_gateway.py",
    "interop/test_java_generations.py",
    "interop/test_convert.py",
    "fault/test_fair_loop.py",
    "property/test_idempotent_producer.py",
    "interop/test_admin_tools.py",
    "interop/test_zookeeper_directories.py",
    "interop/test_old_directories.py",
    "interop/test_directories.py",
    "fault/test_archive_kills.py",
    "unit/broker/handlers/test_fair_handlers.py",
    "fault/test_strangers.py",
    "interop/test_spark_connector.py",
    "interop/test_groups_tools.py",
    "interop/test_real_clients.py",
    "unit/producer/test_soak.py",
    "unit/pipeline/archive/test_log_archive.py",
    "interop/test_secure_listeners.py",
    "interop/test_client_tools.py",
    "unit/cli/bench/test_commands.py",
    "unit/pipeline/sources/test_segments_writer.py",
    "differential/test_walks_against_kafka.py",
    "interop/test_groups_resume.py",
    "unit/storage/metadata/test_power_cuts.py",
    "fault/test_storage_faults.py",
    "interop/test_storage_with_kafka.py",
    "interop/test_metadata_handover.py",
    "unit/pipeline/sources/test_kafka_segments.py",
    "interop/test_transactions.py",
    "interop/test_packages_for_tests.py",
    "interop/test_producer_transactions.py",
    "property/test_compressed_batches.py",
    "interop/test_archive.py",
    "interop/test_access_tools.py",
    "differential/test_fetch_against_kafka.py",
    "differential/test_compaction_against_kafka.py",
    "interop/test_transactions_directories.py",
    "unit/testing/scenarios/test_classics.py",
    "unit/testing/test_pytest_plugin.py",
    "differential/test_unusual_requests_against_kafka.py",
    "interop/test_producer.py",
    "unit/producer/test_faults.py",
    "property/test_records.py",
    "interop/test_segments_write.py",
    "unit/pipeline/sources/test_segments_stream.py",
    "differential/test_idempotent_producer_against_kafka.py",
    "interop/test_tiered_storage.py",
    "property/test_hostile_messages.py",
    "interop/test_producer_storm.py",
    "property/test_messages_against_kafka.py",
    "fault/test_fair_order.py",
    "differential/test_append_against_kafka.py",
    "differential/test_authorization_against_kafka.py",
    "interop/test_transaction_tools.py",
    "differential/test_admin_against_kafka.py",
    "fault/test_kill.py",
    "unit/pipeline/census/test_job.py",
    "unit/cli/log/test_command.py",
    "interop/test_secured_testing.py",
    "interop/test_security_page.py",
    "property/test_messages_against_kio.py",
    "interop/test_groups_storm.py",
    "interop/test_groups_directories.py",
    "unit/house/test_words.py",
    "interop/test_recipes.py",
    "property/test_block_loops.py",
    "property/test_compaction.py",
    "unit/bench/cases/test_cleaning.py",
    "interop/test_producer_old_kafka.py",
)
"""Files from `tests/` on, by how long they take; `pytest --junitxml` tells. All others are short."""


def place_of(path: Path) -> int:
    """Where a file comes in order."""
    name = path.relative_to(TESTS).as_posix()
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


class LongestFirst(LoadFileScheduling):
    """Hands out the files as they are collected, which is in the order of `place_of`."""

    def __init__(self, config: object, log: object = None) -> None:
        super().__init__(config, log)
        self.config.option.loadscopereorder = False
