"""The resources whose settings clients may see and change, by DescribeConfigs' codes.

| code | resource | name |
|---|---|---|
| 2 | topic | its name |
| 4 | broker | its id, or "" for the dynamic defaults of all brokers |
| 8 | logger of a broker | the broker's id; can be seen, and set until the next restart |
| 16 | client metrics | of KIP-714, which this broker does not collect: nothing is set |
"""

import logging
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

from ...config import ConfigError
from ...config.alterations import Alteration, Operation, alter
from ...config.keys.key import Key
from ...config.tables.all_keys import BROKER_KEYS, TOPIC_KEYS
from ...network.turn import Turn
from ...network.worker_threads import drop_traceback
from ...protocol.errors import ApiError, ErrorCode
from .topic_rules import check_name

if TYPE_CHECKING:
    from .image import MetadataImage
    from .topics import Topics

ROOT_LOGGER = "root"
# log4j's levels, in Python's terms.
LEVELS = {
    "OFF": logging.CRITICAL + 10,
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG - 5,
}
HIDDEN = "[hidden]"
"""Shown in place of passwords, and of values whose key is in no table: they may be a listener's passwords."""
log = logging.getLogger(__name__)
NO_ERROR = ApiError("", ErrorCode.NONE)


class ResourceType(IntEnum):
    """What a resource is."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16


def resource_type(code: int) -> ResourceType:
    """Raises ApiError INVALID_REQUEST."""
    try:
        return ResourceType(code)
    except ValueError:
        raise ApiError(f"resource type {code} is not known", ErrorCode.INVALID_REQUEST) from None


def is_cluster_default(cluster: "MetadataImage", name: str) -> bool:
    """Whether a broker resource stands for all brokers. Raises ApiError INVALID_REQUEST when it is another broker."""
    if not name:
        return True
    check_is_this_broker(cluster, name)
    return False


def check_is_this_broker(cluster: "MetadataImage", name: str) -> None:
    """Raises ApiError INVALID_REQUEST."""
    node_id = cluster.node_id
    if name != str(node_id):  # nor 01, 001, …: a request could have it described a thousand times
        raise ApiError(f"this is broker {node_id}, not {name!r}", ErrorCode.INVALID_REQUEST)


class NamedResource(Protocol):
    """A resource that a request wants to change."""

    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...


MOST_KEYS = 500
"""The most keys of one resource in a request; a broker has some 300, and an error names each unknown one."""

R = TypeVar("R", bound=NamedResource)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsOptions:
    """Who asks to alter settings, and whether this is only checked. What to alter is passed beside it."""

    by: str
    is_validate_only: bool = False

    def log_changes(
        self, resource: str, before: Mapping[str, str], after: Mapping[str, str], keys: Mapping[str, Key]
    ) -> None:
        """Logs the old and the new value of each setting that changed; "unset" is the default."""
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        texts = [
            f"{name} from {_loggable_value(name, before, keys)} to {_loggable_value(name, after, keys)}"
            for name in changed
        ]
        log.info("settings of %s are changed by %s: %s", resource, self.by, ", ".join(texts) or "nothing differs")


def _loggable_value(name: str, texts: Mapping[str, str], keys: Mapping[str, Key]) -> str:
    if name not in texts:
        return "unset"
    return texts[name] if name in keys and not keys[name].sensitive else HIDDEN


async def change_each(
    resources: Sequence[R], repeated: Container[Hashable], change: Callable[[R], None], turn: Turn
) -> list[ApiError]:
    """Changes each resource that is not in `repeated`; returns the error of each, `NO_ERROR` for none."""
    errors = []
    for resource in resources:
        error = NO_ERROR
        try:
            if (resource.resource_type, resource.resource_name) in repeated:
                raise ApiError("the resource is given more than once", ErrorCode.INVALID_REQUEST)
            change(resource)
        except ApiError as fault:
            drop_traceback(fault)
            error = fault
        errors.append(error)
        await turn.next()  # the change was written and synced
    return errors


def check_config_keys(names: Sequence[str], without_value: Sequence[str]) -> None:
    """Raises ApiError INVALID_REQUEST when a key is named twice, has no value where it needs one, or there are more
    than any resource has."""
    if len(names) > MOST_KEYS:
        raise ApiError(
            f"{len(names)} configuration keys of one resource, {MOST_KEYS} is the most", ErrorCode.INVALID_REQUEST
        )
    if len(set(names)) < len(names):
        raise ApiError("a configuration key is named more than once", ErrorCode.INVALID_REQUEST)
    if without_value:
        raise ApiError(f"no value is given for {', '.join(without_value)}", ErrorCode.INVALID_REQUEST)


def replace_topic_settings(topics: "Topics", name: str, texts: Mapping[str, str], options: AlterConfigsOptions) -> None:
    """Replaces a topic's own settings. Raises ApiError 3, 17, 40 or 42."""
    if not name:
        raise ApiError("topics have no common defaults; set them on the broker", ErrorCode.INVALID_REQUEST)
    check_name(name)
    topics.configuration.topic_settings(texts)
    if name not in topics.cluster.topics:
        raise ApiError(f"there is no topic {name}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not options.is_validate_only:
        before = topics.cluster.topics[name].overrides
        topics.configure_topic(name, texts)
        options.log_changes(f"topic {name}", before, texts, TOPIC_KEYS)


def replace_broker_settings(
    topics: "Topics", name: str, texts: Mapping[str, str], options: AlterConfigsOptions
) -> None:
    """Replaces the dynamic settings of this broker or of all. Raises ApiError 42."""
    of_cluster = is_cluster_default(topics.cluster, name)
    if options.is_validate_only:
        topics.configuration.check_broker_settings(texts, of_cluster=of_cluster)
        return
    before = topics.configuration.broker_overrides(of_cluster=of_cluster)
    topics.configure_broker(texts, of_cluster=of_cluster)
    options.log_changes("all brokers" if of_cluster else f"broker {name}", before, texts, BROKER_KEYS)


def alter_topic_settings(
    topics: "Topics", name: str, alterations: Iterable[Alteration], options: AlterConfigsOptions
) -> None:
    """Changes some of a topic's own settings. Raises ApiError 3, 17, 40 or 42."""
    topic = topics.cluster.topics.get(name)
    before = {} if topic is None else topic.overrides
    try:
        texts = alter(before, alterations, TOPIC_KEYS)
    except ConfigError as error:
        raise ApiError(str(error), ErrorCode.INVALID_CONFIG) from error
    replace_topic_settings(topics, name, texts, options)


def alter_broker_settings(
    topics: "Topics", name: str, alterations: Iterable[Alteration], options: AlterConfigsOptions
) -> None:
    """Changes some dynamic settings of this broker or of all. Raises ApiError 40 or 42."""
    before = topics.configuration.broker_overrides(of_cluster=is_cluster_default(topics.cluster, name))
    try:
        texts = alter(before, alterations, BROKER_KEYS)
    except ConfigError as error:
        raise ApiError(str(error), ErrorCode.INVALID_CONFIG) from error
    replace_broker_settings(topics, name, texts, options)


def logger_levels() -> dict[str, str]:
    """The level in force of each logger of this process, by name."""
    names = [name for name, known in logging.root.manager.loggerDict.items() if isinstance(known, logging.Logger)]
    levels = {name: _level_name(logging.getLogger(name).getEffectiveLevel()) for name in sorted(names)}
    return {ROOT_LOGGER: _level_name(logging.root.level), **levels}


def alter_logger_levels(
    cluster: "MetadataImage", name: str, alterations: Sequence[Alteration], options: AlterConfigsOptions
) -> None:
    """Sets levels of loggers, or takes them back. Raises ApiError INVALID_CONFIG or INVALID_REQUEST."""
    check_is_this_broker(cluster, name)
    known = logger_levels()
    for alteration in alterations:
        _check_logger_alteration(alteration, known)
    if options.is_validate_only:
        return
    for alteration in alterations:
        logger = logging.root if alteration.key == ROOT_LOGGER else logging.getLogger(alteration.key)
        logger.setLevel(LEVELS[alteration.text] if alteration.operation is Operation.SET else logging.NOTSET)


def _check_logger_alteration(alteration: Alteration, known: Mapping[str, str]) -> None:
    if alteration.operation not in (Operation.SET, Operation.DELETE):
        raise ApiError(f"{alteration.operation.name} is not supported for loggers", ErrorCode.INVALID_REQUEST)
    if alteration.key not in known:
        raise ApiError(f"there is no logger {alteration.key}", ErrorCode.INVALID_CONFIG)
    if alteration.operation is Operation.DELETE and alteration.key == ROOT_LOGGER:
        raise ApiError("the level of the root logger cannot be deleted", ErrorCode.INVALID_REQUEST)
    if alteration.operation is Operation.SET and alteration.text not in LEVELS:
        raise ApiError(
            f"{alteration.key}: a level out of {', '.join(LEVELS)} expected, found {alteration.text!r}",
            ErrorCode.INVALID_CONFIG,
        )


def _level_name(level: int) -> str:
    """The lowest of log4j's levels that is not below `level`."""
    return next((name for name, value in sorted(LEVELS.items(), key=lambda item: item[1]) if value >= level), "OFF")
