"""The admin clients: what can be asked of a cluster, blocking or awaited.

    with Admin("localhost:9092") as admin:
        admin.create_topics([NewTopic(name="orders", partitions=3)])

Each method is the operation of that name in `client/operations/`; `run` carries out others, and those of your own.
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


def _block(operation: Callable[P, Operation[T]]) -> Callable[Concatenate["Admin", P], T]:
    @wraps(operation)
    def run(admin: "Admin", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return admin.run(operation(*args, **kwargs))

    return run


def _await(operation: Callable[P, Operation[T]]) -> Callable[Concatenate["AsyncAdmin", P], Coroutine[Any, Any, T]]:
    @wraps(operation)
    async def run(admin: "AsyncAdmin", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await admin.run(operation(*args, **kwargs))

    return run


class Admin(BlockingClient):
    """Asks a cluster, one thing at a time. `bootstrap`: "host:port,…"; `config`: security.*, ssl.* and sasl.* as Kafka
    names them; or `security`, which may hold a context and a provider of tokens.

    Raises: ClientError from every method; ConfigError for settings that cannot be.
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

    create_topics = _block(topics.create_topics)
    delete_topics = _block(topics.delete_topics)
    describe_topics = _block(topics.describe_topics)
    add_partitions = _block(topics.add_partitions)
    topic_configs = _block(topics.topic_configs)
    alter_topic_configs = _block(topics.alter_topic_configs)
    replace_topic_configs = _block(topics.replace_topic_configs)
    describe_configs = _block(configs.describe_configs)
    alter_configs = _block(configs.alter_configs)
    describe_quotas = _block(quotas.describe_quotas)
    alter_quotas = _block(quotas.alter_quotas)
    reassign_partitions = _block(reassignments.reassign_partitions)
    list_reassignments = _block(reassignments.list_reassignments)
    list_groups = _block(groups.list_groups)
    describe_groups = _block(groups.describe_groups)
    delete_groups = _block(groups.delete_groups)
    committed_offsets = _block(offsets.committed_offsets)
    commit_offsets = _block(offsets.commit_offsets)
    list_transactions = _block(transactions.list_transactions)
    describe_acls = _block(acls.describe_acls)
    create_acls = _block(acls.create_acls)
    delete_acls = _block(acls.delete_acls)
    describe_users = _block(users.describe_users)
    set_password = _block(users.set_password)
    remove_password = _block(users.remove_password)


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

    create_topics = _await(topics.create_topics)
    delete_topics = _await(topics.delete_topics)
    describe_topics = _await(topics.describe_topics)
    add_partitions = _await(topics.add_partitions)
    topic_configs = _await(topics.topic_configs)
    alter_topic_configs = _await(topics.alter_topic_configs)
    replace_topic_configs = _await(topics.replace_topic_configs)
    describe_configs = _await(configs.describe_configs)
    alter_configs = _await(configs.alter_configs)
    describe_quotas = _await(quotas.describe_quotas)
    alter_quotas = _await(quotas.alter_quotas)
    reassign_partitions = _await(reassignments.reassign_partitions)
    list_reassignments = _await(reassignments.list_reassignments)
    list_groups = _await(groups.list_groups)
    describe_groups = _await(groups.describe_groups)
    delete_groups = _await(groups.delete_groups)
    committed_offsets = _await(offsets.committed_offsets)
    commit_offsets = _await(offsets.commit_offsets)
    list_transactions = _await(transactions.list_transactions)
    describe_acls = _await(acls.describe_acls)
    create_acls = _await(acls.create_acls)
    delete_acls = _await(acls.delete_acls)
    describe_users = _await(users.describe_users)
    set_password = _await(users.set_password)
    remove_password = _await(users.remove_password)
