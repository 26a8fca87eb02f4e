"""BrokerSettings and TopicSettings: frozen dataclasses with one typed field per key that stepdown acts on.

Names contain the units. BrokerSettings has no fields for topic defaults: TopicSettings has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .keys.endpoints import Endpoint, HostPort
from .listener_security import ListenerSecurity


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """The broker's settings, merged from all sources."""

    # Identity
    broker_id: int
    """-1 if it is not set."""
    broker_rack: str | None

    # Listeners
    listeners: tuple[Endpoint, ...]
    """The listeners to bind, without the controller's; host "" means every address, port 0 any free port."""
    advertised_listeners: tuple[Endpoint, ...]
    """The addresses for clients, one for each advertised listener; the broker fills in a host ""."""
    inter_broker_listener_name: str | None
    listener_security: Mapping[str, ListenerSecurity]
    listener_max_connections: Mapping[str, int]
    listener_max_connection_creation_rate: Mapping[str, int]
    """These three are by the name of the listener."""
    stepdown_authentication_timeout_ms: int
    connection_failed_authentication_delay_ms: int
    """Applies to the HTTP page; listeners have their own delay."""

    # Connections and requests
    connections_max_idle_ms: int
    max_connections: int
    max_connections_per_ip: int
    max_connections_per_ip_overrides: tuple[tuple[str, int], ...]
    max_connection_creation_rate: int
    socket_listen_backlog_size: int
    socket_send_buffer_bytes: int
    socket_receive_buffer_bytes: int
    socket_request_max_bytes: int
    queued_max_requests: int
    queued_max_request_bytes: int
    num_io_threads: int
    fetch_max_bytes: int
    max_incremental_fetch_session_cache_slots: int
    max_request_partition_size_limit: int

    # Who may do what
    authorizer_class_name: str
    """"" for no authorizer."""
    super_users: frozenset[str]
    """Principals such as `User:name`."""
    allow_everyone_if_no_acl_found: bool

    # Quotas
    quota_window_num: int
    quota_window_size_seconds: int

    # Topics
    auto_create_topics_enable: bool
    num_partitions: int
    default_replication_factor: int
    delete_topic_enable: bool

    # Log directories and their periodic work
    log_dirs: tuple[str, ...]
    metadata_log_dir: str | None
    metadata_log_max_record_bytes_between_snapshots: int
    num_recovery_threads_per_data_dir: int
    log_retention_check_interval_ms: int
    log_flush_scheduler_interval_ms: int
    log_flush_offset_checkpoint_interval_ms: int
    log_flush_start_offset_checkpoint_interval_ms: int
    replica_high_watermark_checkpoint_interval_ms: int
    log_initial_task_delay_ms: int

    # Replicas, in a cluster
    replica_lag_time_max_ms: int
    replica_fetch_max_bytes: int
    replica_selector_class: str | None
    broker_session_timeout_ms: int
    auto_leader_rebalance_enable: bool
    leader_imbalance_check_interval_seconds: int

    # Cleaner
    log_cleaner_enable: bool
    log_cleaner_threads: int
    log_cleaner_dedupe_buffer_bytes: int
    log_cleaner_io_buffer_bytes: int
    log_cleaner_io_buffer_load_factor: float
    log_cleaner_io_max_bytes_per_second: float
    log_cleaner_backoff_ms: int

    # Groups
    offset_metadata_max_bytes: int
    offsets_commit_timeout_ms: int
    offsets_retention_minutes: int
    offsets_retention_check_interval_ms: int
    offsets_topic_num_partitions: int
    offsets_topic_replication_factor: int
    offsets_topic_segment_bytes: int
    offsets_topic_compression_codec: int
    offsets_load_buffer_bytes: int
    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_initial_rebalance_delay_ms: int
    group_max_size: int
    group_coordinator_rebalance_protocols: tuple[str, ...]
    group_consumer_session_timeout_ms: int
    group_consumer_heartbeat_interval_ms: int
    group_consumer_max_size: int
    group_consumer_assignors: tuple[str, ...]
    group_consumer_migration_policy: str

    # Producers and transactions
    producer_id_expiration_ms: int
    producer_id_expiration_check_interval_ms: int
    transaction_max_timeout_ms: int
    transactional_id_expiration_ms: int
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_remove_expired_transaction_cleanup_interval_ms: int
    transaction_partition_verification_enable: bool
    transaction_state_log_num_partitions: int
    transaction_state_log_replication_factor: int
    transaction_state_log_min_isr: int
    transaction_state_log_segment_bytes: int
    transaction_state_log_load_buffer_bytes: int

    # stepdown's own
    stepdown_downconversion_chunk_bytes: int
    stepdown_request_memory_bytes: int
    stepdown_request_min_bytes_per_second: int
    stepdown_request_max_bytes: int
    stepdown_request_max_items: int
    stepdown_max_connections_before_request: int
    stepdown_max_partitions: int
    stepdown_conversion_memory_bytes: int
    stepdown_downconversion_zstd: str
    stepdown_decompression_max_bytes: int
    stepdown_http_listen: HostPort
    stepdown_page_enabled: bool
    stepdown_page_password: str | None
    stepdown_page_produce: bool
    stepdown_client_report_max_clients: int
    stepdown_client_report_file: str | None
    stepdown_topics: str
    stepdown_act_as: str | None
    stepdown_control_listen: HostPort | None
    stepdown_control_token: str | None
    stepdown_shutdown_grace_ms: int
    stepdown_cluster_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """The settings of one topic: its own values over the broker's defaults.

    If only `message.timestamp.difference.max.ms` is set, the two timestamp bounds have its value.
    """

    # Sizes
    max_message_bytes: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    preallocate: bool

    # Times
    segment_ms: int
    segment_jitter_ms: int
    flush_messages: int
    flush_ms: int
    file_delete_delay_ms: int
    retention_ms: int
    retention_bytes: int

    # Cleaning
    cleanup_policy: tuple[str, ...]
    delete_retention_ms: int
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    min_cleanable_dirty_ratio: float

    # Format
    compression_type: str
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int
    message_downconversion_enable: bool
    message_format_version: str
    message_timestamp_type: str
    message_timestamp_before_max_ms: int
    message_timestamp_after_max_ms: int
    message_timestamp_difference_max_ms: int

    # Replicas and tiers
    min_insync_replicas: int
    unclean_leader_election_enable: bool
    leader_replication_throttled_replicas: tuple[str, ...]
    follower_replication_throttled_replicas: tuple[str, ...]
    remote_storage_enable: bool
    remote_log_copy_disable: bool
    remote_log_delete_on_disable: bool
    local_retention_ms: int
    local_retention_bytes: int

    # stepdown's own
    stepdown_settings_unknown: bool

    @property
    def is_compacted(self) -> bool:
        """Whether the cleaner keeps only the last record of each key."""
        return "compact" in self.cleanup_policy

    @property
    def deletes_old_segments(self) -> bool:
        """Whether retention removes old segments."""
        return "delete" in self.cleanup_policy
