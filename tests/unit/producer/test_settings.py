"""Kafka's settings, ranges and conflicts."""

from typing import Any

import pytest
from stepdown.config import ConfigError
from stepdown.producer import Producer
from stepdown.producer.settings import KEYS, ProducerSettings, producer_settings
from stepdown.protocol.records.layout import Codec


def settings(**given: object) -> ProducerSettings:
    return producer_settings({"bootstrap.servers": "h:1", **given})  # type: ignore[dict-item]


def test_defaults_are_kafkas() -> None:
    defaults = settings()
    assert (defaults.acks, defaults.batch_size, defaults.linger_ms, defaults.max_in_flight) == (-1, 16384, 0, 5)
    assert (defaults.delivery_timeout_ms, defaults.request_timeout_ms, defaults.retries) == (120000, 30000, 2**31 - 1)
    assert (defaults.idempotent, defaults.codec, defaults.buffer_memory) == (True, Codec.NONE, 33554432)


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("acks", "2"),
        ("batch.size", -1),
        ("linger.ms", -1),
        ("retries", -1),
        ("max.in.flight.requests.per.connection", 0),
        ("compression.type", "brotli"),
        ("compression.gzip.level", 0),
        ("compression.lz4.level", 18),
        ("compression.zstd.level", 23),
        ("metadata.max.idle.ms", 4999),
        ("bootstrap.servers", "nowhere"),
        ("partitioner.class", "sticki"),
        ("batch.size", "many"),
    ],
)
def test_what_is_out_of_range_is_refused_by_its_name(key: str, wrong: object) -> None:
    with pytest.raises(ConfigError, match=key.replace(".", r"\.")):
        settings(**{key: wrong})


def test_an_unknown_key_gets_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"did you mean linger\.ms"):
        settings(lingr_ms=5)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        settings(acks="2", retries=-1)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize("conflict", [{"acks": 1}, {"retries": 0}, {"max_in_flight_requests_per_connection": 6}])
def test_idempotence_goes_off_silently_by_default_and_is_an_error_when_asked_for(conflict: dict[str, object]) -> None:
    off = settings(**conflict)
    assert not off.idempotent and "idempotence is off" in off.warnings[0]
    with pytest.raises(ConfigError, match="idempotence needs"):
        settings(enable_idempotence=True, **conflict)


def test_names_go_with_dots_and_underscores_and_numbers_as_text() -> None:
    assert settings(**{"batch.size": "100"}).batch_size == settings(batch_size=100).batch_size == 100
    assert settings(compression="lz4").codec is Codec.LZ4


def test_batch_size_0_means_1_and_linger_is_clamped_to_an_int() -> None:
    assert settings(batch_size=0).batch_size == 1
    assert settings(linger_ms=2**40).linger_ms == 2**31 - 1


def test_memory_for_less_than_one_batch_is_an_error() -> None:
    assert settings(buffer_memory=100, batch_size=100).buffer_memory == 100
    with pytest.raises(ConfigError, match=r"buffer\.memory: expected at least batch\.size, 16384, found '8192'"):
        settings(buffer_memory=8192)


def test_client_ids_count_up() -> None:
    first, second = (int(settings().client_id.removeprefix("producer-")) for _ in range(2))
    assert second == first + 1


def test_every_key_is_documented() -> None:
    assert all(key.doc.endswith(".") for key in KEYS.values())


@pytest.mark.parametrize("servers", [None, 9092, b"localhost:9092", ("localhost", 9092)], ids=repr)
def test_bootstrap_servers_of_another_type_are_told_as_such(servers: Any) -> None:
    with pytest.raises(TypeError, match="bootstrap_servers is a str of host:port"):
        Producer(servers)
