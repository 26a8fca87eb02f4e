"""The admin clients, blocking and async: one method for each operation on a cluster.

    with Admin("localhost:9092") as admin:
        admin.create_topics([NewTopic(name="orders", partitions=3)])

Each method runs the operation of that name in `client/operations/`; `run` runs any other operation.
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ..config.keys.endpoints import parse_host_port
from .async_client import AsyncClient
from .blocking_client import BlockingClient
from .connection import TIMEOUT_S
from .operation import Operation
from .operations import acls, configs, groups, offsets, quotas, reassignments, topics, transactions, users
from .security.settings import SecuritySettings, parse_security

P = ParamSpec("P")
T = TypeVar("T")
CLIENT_ID = "stepdown-admin"


def _make_blocking(operation: Callable[P, Operation[T]]) -> Callable[Concatenate["Admin", P], T]:
    @wraps(operation)
    def run(admin: "Admin", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return admin.run(operation(*args, **kwargs))

    return run


def _make_async(operation: Callable[P, Operation[T]]) -> Callable[Concatenate["AsyncAdmin", P], Coroutine[Any, Any, T]]:
    @wraps(operation)
    async def run(admin: "AsyncAdmin", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await admin.run(operation(*args, **kwargs))

    return run


class Admin(BlockingClient):
    """Asks a cluster one thing at a time. `bootstrap`: "host:port,…". `config`: Kafka's security.*, ssl.* and sasl.*
    settings; `security` in its place may hold an SSL context and a token provider.

    Raises: ClientError from every method; ConfigError for invalid settings.
    """

    def __init__(
        self,
        bootstrap: str,
        config: Mapping[str, str] | None = None,
        *,
        security: SecuritySettings | None = None,
        client_id: str = CLIENT_ID,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        addresses = [parse_host_port(each.strip()) for each in bootstrap.split(",")]
        security = security or parse_security(config or {})
        super().__init__(addresses, client_id=client_id, security=security, timeout_s=timeout_s)

    create_topics = _make_blocking(topics.create_topics)
    delete_topics = _make_blocking(topics.delete_topics)
    describe_topics = _make_blocking(topics.describe_topics)
    add_partitions = _make_blocking(topics.add_partitions)
    topic_configs = _make_blocking(topics.topic_configs)
    alter_topic_configs = _make_blocking(topics.alter_topic_configs)
    replace_topic_configs = _make_blocking(topics.replace_topic_configs)
    describe_configs = _make_blocking(configs.describe_configs)
    alter_configs = _make_blocking(configs.alter_configs)
    describe_quotas = _make_blocking(quotas.describe_quotas)
    alter_quotas = _make_blocking(quotas.alter_quotas)
    reassign_partitions = _make_blocking(reassignments.reassign_partitions)
    list_reassignments = _make_blocking(reassignments.list_reassignments)
    list_groups = _make_blocking(groups.list_groups)
    describe_groups = _make_blocking(groups.describe_groups)
    delete_groups = _make_blocking(groups.delete_groups)
    committed_offsets = _make_blocking(offsets.committed_offsets)
    commit_offsets = _make_blocking(offsets.commit_offsets)
    list_transactions = _make_blocking(transactions.list_transactions)
    describe_acls = _make_blocking(acls.describe_acls)
    create_acls = _make_blocking(acls.create_acls)
    delete_acls = _make_blocking(acls.delete_acls)
    describe_users = _make_blocking(users.describe_users)
    set_password = _make_blocking(users.set_password)
    remove_password = _make_blocking(users.remove_password)


class AsyncAdmin(AsyncClient):
    """As `Admin`, for the event loop: every method is awaited, and many may run at a time."""

    def __init__(
        self,
        bootstrap: str,
        config: Mapping[str, str] | None = None,
        *,
        security: SecuritySettings | None = None,
        client_id: str = CLIENT_ID,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        addresses = [parse_host_port(each.strip()) for each in bootstrap.split(",")]
        security = security or parse_security(config or {})
        super().__init__(addresses, client_id=client_id, security=security, timeout_s=timeout_s)

    create_topics = _make_async(topics.create_topics)
    delete_topics = _make_async(topics.delete_topics)
    describe_topics = _make_async(topics.describe_topics)
    add_partitions = _make_async(topics.add_partitions)
    topic_configs = _make_async(topics.topic_configs)
    alter_topic_configs = _make_async(topics.alter_topic_configs)
    replace_topic_configs = _make_async(topics.replace_topic_configs)
    describe_configs = _make_async(configs.describe_configs)
    alter_configs = _make_async(configs.alter_configs)
    describe_quotas = _make_async(quotas.describe_quotas)
    alter_quotas = _make_async(quotas.alter_quotas)
    reassign_partitions = _make_async(reassignments.reassign_partitions)
    list_reassignments = _make_async(reassignments.list_reassignments)
    list_groups = _make_async(groups.list_groups)
    describe_groups = _make_async(groups.describe_groups)
    delete_groups = _make_async(groups.delete_groups)
    committed_offsets = _make_async(offsets.committed_offsets)
    commit_offsets = _make_async(offsets.commit_offsets)
    list_transactions = _make_async(transactions.list_transactions)
    describe_acls = _make_async(acls.describe_acls)
    create_acls = _make_async(acls.create_acls)
    delete_acls = _make_async(acls.delete_acls)
    describe_users = _make_async(users.describe_users)
    set_password = _make_async(users.set_password)
    remove_password = _make_async(users.remove_password)
