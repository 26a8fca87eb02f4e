"""What an administrator changes while clients are connected: passwords and access rules."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.acls import ANY_USER, WILDCARD, AclOperation, PatternType, PermissionType, ResourceType
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from stepdown.protocol.messages.sasl_handshake import SaslHandshakeRequest
from stepdown.protocol.scram import SCRAM_MECHANISMS
from support.admin import create
from support.certificates import Authority
from support.client import RawClient
from support.deadline import DEADLINE_S
from support.kafka_authorizing import AUTHORIZER
from support.sasl_client import handshake, log_in, plain_token
from support.secure import USER, secure_broker, secure_settings
from support.transactions import TransactionalClient

ALL_TOPICS = MetadataRequest(topics=None)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
async def broker(tmp_path: Path, authority: Authority) -> AsyncIterator[Broker]:
    settings = secure_settings(authority) | {
        "connections.max.reauth.ms": "60000",
        "authorizer.class.name": AUTHORIZER,
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
        "transaction.state.log.num.partitions": "1",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    }
    async with secure_broker(tmp_path / "data", settings) as broker:
        yield broker


@pytest.fixture
async def admin(broker: Broker) -> AsyncIterator[RawClient]:
    async with await RawClient.connect("127.0.0.1", broker.addresses["PLAINTEXT"].port) as client:
        yield client


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    """Logged in as `USER`, by SCRAM."""
    async with await RawClient.connect("127.0.0.1", broker.addresses["SASL_PLAINTEXT"].port) as client:
        assert (await log_in(client, "SCRAM-SHA-256")).error_code == ErrorCode.NONE
        yield client


async def test_a_login_is_renewed_behind_requests_in_flight_and_before_others(broker: Broker) -> None:
    """They are answered in order: the parked fetch, the renewal, what comes after it."""
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    fetch = FetchRequest(max_wait_ms=300, min_bytes=1, topics=[FetchTopic(topic="t", partitions=[partition])])
    token = SaslAuthenticateRequest(auth_bytes=plain_token())
    requests = ((fetch, 4), (SaslHandshakeRequest(mechanism="PLAIN"), 1), (token, 2), (ALL_TOPICS, 9))
    async with await RawClient.connect("127.0.0.1", broker.addresses["SASL_PLAINTEXT"].port) as client:
        await log_in(client, "PLAIN")
        await create(client, "t")
        sent = [(request, version, await client.begin(request, version)) for request, version in requests]
        answers = [await client.finish(*each) for each in sent]
        assert answers[1].error_code == answers[2].error_code == ErrorCode.NONE
        assert answers[2].session_lifetime_ms == 60_000
        assert answers[3].topics[0].name == "t"


async def test_a_request_in_the_middle_of_a_renewal_ends_the_connection(client: RawClient) -> None:
    assert (await handshake(client, "SCRAM-SHA-256")).error_code == ErrorCode.NONE
    await client.begin(ALL_TOPICS, 9)
    assert await client.read_frame() is None


async def test_a_deleted_user_stays_until_the_login_has_to_be_renewed(
    broker: Broker, admin: RawClient, client: RawClient
) -> None:
    """As in Kafka."""
    deletions = [ScramCredentialDeletion(name=USER, mechanism=code) for code in SCRAM_MECHANISMS]
    for deletion in deletions:
        answer = await admin.send(AlterUserScramCredentialsRequest(deletions=(deletion,), upsertions=()), 0)
        assert answer.results[0].error_code == ErrorCode.NONE
    assert (await client.send(ALL_TOPICS, 9)).brokers
    async with await RawClient.connect("127.0.0.1", broker.addresses["SASL_PLAINTEXT"].port) as other:
        assert (await log_in(other, "SCRAM-SHA-256")).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert (await log_in(client, "SCRAM-SHA-256")).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert await client.read_frame() is None


async def deny(admin: RawClient, kind: ResourceType, name: str) -> None:
    rule = AclCreation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=PatternType.LITERAL,
        principal=ANY_USER,
        host=WILDCARD,
        operation=AclOperation.ALL,
        permission_type=PermissionType.DENY,
    )
    assert (await admin.send(CreateAclsRequest(creations=[rule]), 3)).results[0].error_code == ErrorCode.NONE


async def test_who_loses_a_topic_in_a_transaction_may_write_no_more_and_may_end_it(
    admin: RawClient, client: RawClient
) -> None:
    await create(admin, "t")
    await create(admin, "u")
    producer = TransactionalClient(client)
    await producer.init()
    assert await producer.add("t", 0) == [ErrorCode.NONE]
    assert await producer.produce("t", 0, b"x") == ErrorCode.NONE
    await deny(admin, ResourceType.TOPIC, "t")
    assert await producer.produce("t", 0, b"x") == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert await producer.add("t", 0) == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    assert await producer.end(commit=True) == ErrorCode.NONE


async def test_who_loses_a_transactional_id_cannot_end_the_transaction_which_times_out(
    broker: Broker, admin: RawClient, client: RawClient
) -> None:
    await create(admin, "t")
    producer = TransactionalClient(client)
    await producer.init(timeout_ms=500)
    await producer.add("t", 0)
    assert await producer.produce("t", 0, b"x") == ErrorCode.NONE
    await deny(admin, ResourceType.TRANSACTIONAL_ID, "t")
    for refused in (
        await producer.produce("t", 0, b"x"),
        await producer.end(commit=True),
        (await producer.init()).error_code,
    ):
        assert refused == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    partition = broker.cluster.partition("t", 0)
    async with asyncio.timeout(DEADLINE_S):
        while partition.last_stable_offset < partition.high_watermark:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert broker.metrics.transactions_timed_out.value == 1
