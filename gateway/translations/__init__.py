"""Requests in versions that the cluster does not take, answered by asking it in a version that it takes.

A translation asks through its `TranslatedCall` and returns the response, which is encoded in the client's version.
After that, error codes that the client does not know are replaced.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from ...protocol.api import ApiKey
from . import administration, fetch, groups, list_offsets, produce
from .translated_call import TranslatedCall

Translation = Callable[[TranslatedCall], Awaitable[Any]]
"""Returns the response, None where none is due."""

TRANSLATIONS: dict[int, Translation] = {
    ApiKey.PRODUCE: produce.translate,
    ApiKey.FETCH: fetch.translate,
    ApiKey.LIST_OFFSETS: list_offsets.translate,
    ApiKey.OFFSET_COMMIT: groups.translate_commit,
    ApiKey.OFFSET_FETCH: groups.translate_offset_fetch,
    ApiKey.JOIN_GROUP: groups.translate_join,
    ApiKey.CREATE_TOPICS: administration.translate_version_only,
    ApiKey.DELETE_TOPICS: administration.translate_version_only,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: administration.translate_version_only,
    ApiKey.DESCRIBE_ACLS: administration.translate_version_only,
    ApiKey.CREATE_ACLS: administration.translate_version_only,
    ApiKey.DELETE_ACLS: administration.translate_version_only,
    ApiKey.DESCRIBE_CONFIGS: administration.translate_configs,
}
RENUMBERED = frozenset(
    (
        *(ApiKey.ALTER_REPLICA_LOG_DIRS, ApiKey.DESCRIBE_LOG_DIRS),
        *(ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN),
        *(ApiKey.EXPIRE_DELEGATION_TOKEN, ApiKey.DESCRIBE_DELEGATION_TOKEN),
    )
)
"""Version 1 has the layouts of version 0: only the number changes."""
