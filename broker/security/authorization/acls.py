"""The stored ACLs: finds, adds and removes them.

Changes are written first, then in force; the caller syncs before it answers.

Source: Kafka 3.9 `AclControlManager`, `ResourcePatternFilter`, `AccessControlEntryFilter`.
"""

import asyncio
from collections.abc import Callable, Iterable
from heapq import merge
from operator import attrgetter
from uuid import UUID, uuid4

from ....network.turn import Turn
from ....protocol.acls import (
    ACL_FIELDS,
    CLUSTER_NAME,
    WILDCARD,
    Acl,
    AclFilter,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)
from ....protocol.errors import ApiError, ErrorCode
from ....storage.metadata.metadata_store import MetadataStore
from ....storage.metadata.preencoded_changes import PreencodedChanges

_ORDER = attrgetter(*ACL_FIELDS)
"""Sorts as rules compare, in a tenth of the time."""
SORTED_AT_ONCE = 1_000


class Acls:
    """The stored rules; `on_changed` is called after each change."""

    def __init__(self, store: MetadataStore, on_changed: Callable[[], None]) -> None:
        self._store = store
        self._on_changed = on_changed
        self._changes = asyncio.Lock()

    async def find(self, wanted: AclFilter, turn: Turn) -> list[Acl]:
        """The rules that match the filter, by resource; works in turns."""
        runs: list[list[Acl]] = [[]]
        for acl in tuple(self._store.state.acls):
            if matches(wanted, acl):
                runs[-1].append(acl)
            if len(runs[-1]) == SORTED_AT_ONCE:
                runs[-1].sort(key=_ORDER)
                runs.append([])
            await turn.next()
        runs[-1].sort(key=_ORDER)
        if len(runs) == 1:
            return runs[0]
        found = []
        for acl in merge(*runs, key=_ORDER):
            found.append(acl)
            await turn.next()
        return found

    def add(self, acls: Iterable[Acl]) -> None:
        """Adds rules; those that are there already stay. Raises DiskFault."""
        self._replace({acl: uuid4() for acl in acls} | self._copy_acls())

    async def add_in_turns(self, acls: Iterable[Acl], turn: Turn) -> None:
        """As `add`, for very many rules: encodes them in turns before it writes. Raises DiskFault."""
        new: dict[Acl, UUID] = {}
        for acl in acls:
            new[acl] = uuid4()
            await turn.next()
        async with self._changes:
            await self._replace_in_turns(new | self._copy_acls(), turn)

    async def remove_in_turns(self, acls: Iterable[Acl], turn: Turn) -> None:
        """Removes rules; encodes the rest in turns before it writes. Raises DiskFault."""
        async with self._changes:
            left = self._copy_acls()
            for acl in acls:
                left.pop(acl, None)
                await turn.next()
            await self._replace_in_turns(left, turn)

    def _copy_acls(self) -> dict[Acl, UUID]:
        return dict(self._store.state.acls)

    async def _replace_in_turns(self, acls: dict[Acl, UUID], turn: Turn) -> None:
        encoded = PreencodedChanges()
        for _ in self._store.preencode_acls(acls, encoded):
            await turn.next()
        self._replace(acls, encoded)

    def _replace(self, acls: dict[Acl, UUID], encoded: PreencodedChanges | None = None) -> None:
        if acls != self._store.state.acls:
            with self._store.change(sync=False, encoded=encoded) as state:
                state.acls = acls
            self._on_changed()


def check_acl(acl: Acl) -> None:
    """Raises ApiError INVALID_REQUEST for a rule that makes no sense."""
    for wrong, fault in (
        (acl.resource_type in (ResourceType.UNKNOWN, ResourceType.ANY), "a rule needs a type of resource"),
        (acl.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED), "a pattern is literal or prefixed"),
        (acl.operation in (AclOperation.UNKNOWN, AclOperation.ANY), "a rule needs an operation"),
        (acl.permission_type not in (PermissionType.ALLOW, PermissionType.DENY), "a rule allows or denies"),
        (not acl.resource_name, "the name of the resource is empty"),
        (
            acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME,
            f"the only cluster is called {CLUSTER_NAME}",
        ),
        (":" not in acl.principal, f"a principal is written as type:name, found {acl.principal!r}"),
    ):
        if wrong:
            raise ApiError(fault, ErrorCode.INVALID_REQUEST)


def matches(wanted: AclFilter, acl: Acl) -> bool:
    """Whether the rule matches the filter."""
    return (
        wanted.resource_type in (ResourceType.ANY, acl.resource_type)
        and wanted.pattern_type in (PatternType.ANY, PatternType.MATCH, acl.pattern_type)
        and _matches_name(wanted, acl)
        and wanted.principal in (None, acl.principal)
        and wanted.host in (None, acl.host)
        and wanted.operation in (AclOperation.ANY, acl.operation)
        and wanted.permission_type in (PermissionType.ANY, acl.permission_type)
    )


def _matches_name(wanted: AclFilter, acl: Acl) -> bool:
    if wanted.resource_name is None:
        return True
    if wanted.pattern_type is not PatternType.MATCH:
        return wanted.resource_name == acl.resource_name
    if acl.pattern_type is PatternType.PREFIXED:
        return wanted.resource_name.startswith(acl.resource_name)
    return acl.resource_name in (wanted.resource_name, WILDCARD)
