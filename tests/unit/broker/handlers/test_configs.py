import logging
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from stepdown.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from stepdown.protocol.messages.incremental_alter_configs import (
    AlterableConfig as Alteration,
)
from stepdown.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource as AlteredResource,
)
from stepdown.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from support.admin import create
from support.client import RawClient
from support.running import running_broker

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = range(4)


async def describe(
    client: RawClient, kind: int, name: str, *keys: str, version: int = 4
) -> dict[str, DescribeConfigsResourceResult]:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys or None)
    request = DescribeConfigsRequest(
        resources=(resource,), include_synonyms=version >= 1, include_documentation=version >= 3
    )
    (result,) = (await client.send(request, version)).results
    assert result.error_code == 0, result
    return {config.name: config for config in result.configs}


async def replace(client: RawClient, kind: int, name: str, *configs: tuple[str, str | None], version: int = 2) -> int:
    resource = AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[AlterableConfig(name=key, value=value) for key, value in configs],
    )
    (result,) = (await client.send(AlterConfigsRequest(resources=(resource,)), version)).responses
    return int(result.error_code)


async def alter(
    client: RawClient, kind: int, name: str, *configs: tuple[str, int, str | None], validate_only: bool = False
) -> int:
    resource = AlteredResource(
        resource_type=kind,
        resource_name=name,
        configs=[Alteration(name=key, config_operation=operation, value=value) for key, operation, value in configs],
    )
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=validate_only)
    (result,) = (await client.send(request, 1)).responses
    return int(result.error_code)


@pytest.mark.parametrize("version", range(5))
async def test_every_version_describes_a_topic(client: RawClient, version: int) -> None:
    await create(client, "orders", configs={"retention.ms": "5"})
    configs = await describe(client, TOPIC, "orders", version=version)
    assert configs["retention.ms"].value == "5"
    assert configs["retention.ms"].config_source == (1 if version else -1)
    assert configs["segment.bytes"].is_default == (version == 0)
    assert bool(configs["retention.ms"].synonyms) == (version >= 1)
    assert bool(configs["retention.ms"].documentation) == (version >= 3)
    assert configs["retention.ms"].config_type == (5 if version >= 3 else 0)


async def test_only_the_named_keys_are_described_and_unknown_ones_left_out(client: RawClient) -> None:
    await create(client, "orders")
    assert set(await describe(client, TOPIC, "orders", "retention.ms", "nonsense")) == {"retention.ms"}


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "not legal", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (LOGGER, "", ErrorCode.INVALID_REQUEST),
        (32, "x", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_what_is_not_there_cannot_be_described(client: RawClient, kind: int, name: str, code: int) -> None:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    (result,) = (await client.send(DescribeConfigsRequest(resources=(resource,)), 4)).results
    assert (result.error_code, result.resource_name) == (code, name)


@pytest.mark.parametrize("version", range(3))
async def test_alter_configs_replaces_all_settings_of_a_topic(broker: Broker, client: RawClient, version: int) -> None:
    await create(client, "orders", configs={"retention.ms": "5", "segment.bytes": "1000"})
    assert await replace(client, TOPIC, "orders", ("max.message.bytes", "99"), version=version) == 0
    settings = broker.cluster.topics["orders"].settings
    assert (settings.retention_ms, settings.segment_bytes, settings.max_message_bytes) == (-1, 1 << 30, 99)


async def test_single_settings_are_set_deleted_and_lists_extended_and_cut(broker: Broker, client: RawClient) -> None:
    await create(client, "orders", configs={"retention.ms": "5"})
    topic = broker.cluster.topics["orders"]
    assert await alter(client, TOPIC, "orders", ("segment.bytes", SET, "1000"), ("retention.ms", DELETE, None)) == 0
    assert topic.overrides == {"segment.bytes": "1000"}
    assert await alter(client, TOPIC, "orders", ("cleanup.policy", APPEND, "compact,delete")) == 0
    assert topic.overrides["cleanup.policy"] == "delete,compact"
    assert await alter(client, TOPIC, "orders", ("cleanup.policy", SUBTRACT, "delete")) == 0
    assert topic.settings.cleanup_policy == ("compact",)


async def test_a_change_acts_on_open_logs_at_once(broker: Broker, client: RawClient) -> None:
    await create(client, "orders")
    log = broker.cluster.topics["orders"].partitions[0].log
    await alter(client, TOPIC, "orders", ("segment.bytes", SET, "1000"))
    assert log.config.segment_bytes == 1000
    await alter(client, BROKER, "", ("log.roll.ms", SET, "77"))
    assert log.config.segment_ms == 77


@pytest.mark.parametrize(
    ("name", "changes", "code"),
    [
        ("orders", [("retention.ms", SET, "soon")], ErrorCode.INVALID_CONFIG),
        ("orders", [("nonsense", SET, "1")], ErrorCode.INVALID_CONFIG),
        ("orders", [("retention.ms", APPEND, "1")], ErrorCode.INVALID_CONFIG),
        ("orders", [("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST),
        ("orders", [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)], ErrorCode.INVALID_REQUEST),
        ("orders", [("retention.ms", 9, "1")], ErrorCode.INVALID_REQUEST),
        ("absent", [("retention.ms", SET, "1")], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("", [("retention.ms", SET, "1")], ErrorCode.INVALID_REQUEST),
    ],
)
async def test_a_wrong_change_changes_nothing(
    broker: Broker, client: RawClient, name: str, changes: list[tuple[str, int, str | None]], code: int
) -> None:
    await create(client, "orders", configs={"segment.bytes": "1000"})
    assert await alter(client, TOPIC, name, ("segment.bytes", DELETE, None), *changes) == code
    assert broker.cluster.topics["orders"].overrides == {"segment.bytes": "1000"}


async def test_validating_changes_nothing(broker: Broker, client: RawClient) -> None:
    await create(client, "orders")
    assert await alter(client, TOPIC, "orders", ("retention.ms", SET, "5"), validate_only=True) == 0
    assert await alter(client, BROKER, "1", ("log.retention.ms", SET, "5"), validate_only=True) == 0
    assert broker.cluster.topics["orders"].settings.retention_ms == -1


async def test_a_resource_given_twice_is_refused(client: RawClient) -> None:
    await create(client, "orders")
    resource = AlteredResource(resource_type=TOPIC, resource_name="orders", configs=())
    response = await client.send(IncrementalAlterConfigsRequest(resources=(resource, resource)), 1)
    assert [result.error_code for result in response.responses] == [ErrorCode.INVALID_REQUEST] * 2


async def test_a_resource_given_again_in_another_part_of_a_long_request_is_refused(
    broker: Broker, client: RawClient
) -> None:
    await create(client, "orders")
    config = Alteration(name="retention.ms", config_operation=SET, value="5")
    names = ["orders", *(f"absent-{number}" for number in range(400)), "orders"]
    resources = [AlteredResource(resource_type=TOPIC, resource_name=name, configs=(config,)) for name in names]
    response = await client.send(IncrementalAlterConfigsRequest(resources=resources), 1)
    codes = [result.error_code for result in response.responses]
    assert codes[0] == codes[-1] == ErrorCode.INVALID_REQUEST
    assert set(codes[1:-1]) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert broker.cluster.topics["orders"].settings.retention_ms != 5


async def test_the_broker_wins_over_the_cluster_and_the_topic_over_both(broker: Broker, client: RawClient) -> None:
    await create(client, "orders")
    topic = broker.cluster.topics["orders"]
    assert await alter(client, BROKER, "", ("log.retention.ms", SET, "100")) == 0
    assert topic.settings.retention_ms == 100
    assert await alter(client, BROKER, "1", ("log.retention.ms", SET, "200")) == 0
    assert topic.settings.retention_ms == 200
    assert await alter(client, TOPIC, "orders", ("retention.ms", SET, "300")) == 0
    row = (await describe(client, TOPIC, "orders", "retention.ms"))["retention.ms"]
    assert [(each.name, each.value, each.source) for each in row.synonyms][:4] == [
        ("retention.ms", "300", 1),
        ("log.retention.ms", "200", 2),
        ("log.retention.ms", "100", 3),
        ("log.retention.ms", "-1", 4),
    ]


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("1", "broker.id", "3"),
        ("1", "num.io.threads", "1000"),
        ("1", "log.retention.ms", "soon"),
        ("1", "advertised.listeners", "PLAINTEXT://elsewhere:1"),
        ("", "advertised.listeners", "PLAINTEXT://elsewhere:1"),
        ("2", "log.retention.ms", "5"),
    ],
)
async def test_what_cannot_change_while_the_broker_runs_is_refused(
    client: RawClient, name: str, key: str, value: str
) -> None:
    assert await alter(client, BROKER, name, (key, SET, value)) == ErrorCode.INVALID_REQUEST


async def test_settings_survive_a_restart(tmp_path: Path) -> None:
    async with (
        running_broker(tmp_path) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await create(client, "orders", configs={"retention.ms": "5"})
        await alter(client, BROKER, "1", ("log.segment.bytes", SET, "2000"))
        await alter(client, BROKER, "", ("log.roll.ms", SET, "77"))
    async with running_broker(tmp_path) as broker:
        settings = broker.cluster.topics["orders"].settings
        assert (settings.retention_ms, settings.segment_bytes, settings.segment_ms) == (5, 2000, 77)
        assert broker.cluster.topics["orders"].partitions[0].log.config.segment_bytes == 2000


async def test_levels_of_loggers_are_shown_and_set(client: RawClient) -> None:
    name = "stepdown.broker.metadata.topics"
    assert name in await describe(client, LOGGER, "1")
    try:
        assert await alter(client, LOGGER, "1", (name, SET, "DEBUG")) == 0
        assert (await describe(client, LOGGER, "1", name))[name].value == "DEBUG"
        assert await alter(client, LOGGER, "1", (name, SET, "LOUD")) == ErrorCode.INVALID_CONFIG
        assert await alter(client, LOGGER, "1", ("no.such.logger", SET, "INFO")) == ErrorCode.INVALID_CONFIG
        assert await alter(client, LOGGER, "1", (name, DELETE, None)) == 0
    finally:
        logging.getLogger(name).setLevel(logging.NOTSET)
