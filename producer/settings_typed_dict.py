"""The settings of a producer as keyword arguments, for type checkers: the names and types of `settings.py`."""

from typing import Literal, TypedDict

from .partitioners.partitioner import Partitioner

Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Acks = Literal["all", "-1", "0", "1", -1, 0, 1]
Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]


class Settings(TypedDict, total=False):
    """`compression` is short for `compression_type`, `partitioner` for `partitioner_class`."""

    acks: Acks
    batch_size: int
    buffer_memory: int
    client_id: str
    compression: Codec
    compression_type: Codec
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int
    connections_max_idle_ms: int
    delivery_timeout_ms: int
    enable_idempotence: bool
    linger_ms: int
    max_block_ms: int
    max_in_flight_requests_per_connection: int
    max_request_size: int
    metadata_max_age_ms: int
    metadata_max_idle_ms: int
    partitioner: str | Partitioner
    partitioner_class: str | Partitioner
    partitioner_adaptive_partitioning_enable: bool
    partitioner_availability_timeout_ms: int
    partitioner_ignore_keys: bool
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    request_timeout_ms: int
    retries: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    sasl_jaas_config: str
    sasl_mechanism: Mechanism
    sasl_password: str
    sasl_username: str
    security_protocol: Protocol
    socket_connection_setup_timeout_ms: int
    ssl_enabled_protocols: str
    ssl_endpoint_identification_algorithm: str
    ssl_key_password: str
    ssl_keystore_certificate_chain: str
    ssl_keystore_key: str
    ssl_keystore_location: str
    ssl_keystore_type: str
    ssl_truststore_certificates: str
    ssl_truststore_location: str
    ssl_truststore_type: str
    transaction_timeout_ms: int
    transactional_id: str
