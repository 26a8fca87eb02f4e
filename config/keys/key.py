"""A key: one setting's name, type, default, range and documentation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .value_checks import Check, OneOf
from .value_types import Value, ValueType, parse


class UpdateMode(Enum):
    """When a broker setting may change; the values are Kafka's names of its update modes."""

    AT_START = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER = "cluster-wide"


class Status(Enum):
    """Whether setting a key has an effect."""

    ACTED_ON = "acted on"
    ACCEPTED = "accepted without effect"


@dataclass(frozen=True, slots=True)
class Key:
    """A setting that stepdown or Kafka 3.9 knows.

    `default`: a parsed value; None if the setting has none. `doc`: whole sentences. `attribute`: the field of
    BrokerSettings or TopicSettings with the value, "" for keys without effect and second synonyms. `synonyms`: broker
    keys in order of precedence; for a topic key those that give its default, for a broker key all keys of the same
    setting, itself included.
    """

    name: str
    kind: ValueType
    default: Value | None
    check: Check | None
    change: UpdateMode
    doc: str
    attribute: str = ""
    status: Status = Status.ACTED_ON
    internal: bool = False
    synonyms: tuple[str, ...] = ()

    @property
    def sensitive(self) -> bool:
        """Whether the value is a secret, which must never be shown."""
        return self.kind is ValueType.PASSWORD

    @property
    def dynamic(self) -> bool:
        """Whether the value may change while the broker runs."""
        return self.change is not UpdateMode.AT_START

    @property
    def expected(self) -> str:
        """A text that describes the allowed values."""
        if self.check is None:
            return self.kind.expected
        if isinstance(self.check, OneOf):
            return self.check.expected
        return f"{self.kind.expected} {self.check.expected}"

    def value_of(self, text: str) -> Value:
        """Parses and checks a value.

        Raises:
            ValueError: the text is not of this kind, or outside of the range.
        """
        value = parse(self.kind, text)
        if self.check is not None and not self.check.accepts(value):
            raise ValueError("out of range")
        return value


AT_START, PER_BROKER, CLUSTER = UpdateMode.AT_START, UpdateMode.PER_BROKER, UpdateMode.CLUSTER
BOOLEAN, STRING, INT, SHORT, LONG = ValueType.BOOLEAN, ValueType.STRING, ValueType.INT, ValueType.SHORT, ValueType.LONG
DOUBLE, LIST, CLASS, PASSWORD = ValueType.DOUBLE, ValueType.LIST, ValueType.CLASS, ValueType.PASSWORD
MAX_LONG = 2**63 - 1
MAX_INT = 2**31 - 1


def active(
    name: str,
    kind: ValueType,
    default: Value | None,
    check: Check | None,
    change: UpdateMode,
    doc: str,
    *,
    attribute: str | None = None,
    internal: bool = False,
    synonyms: tuple[str, ...] = (),
) -> Key:
    """A key that has an effect; `attribute` is by default the name with `_` for dots and dashes."""
    if attribute is None:
        attribute = name.replace(".", "_").replace("-", "_")
    return Key(name, kind, default, check, change, doc, attribute, Status.ACTED_ON, internal, synonyms)


def inert(
    reason: str,
    *rows: tuple[str, ValueType, Value | None, Check | None, UpdateMode],
    internal: bool = False,
) -> tuple[Key, ...]:
    """Keys of Kafka that have no effect in stepdown, all for the same reason."""
    return tuple(
        Key(name, kind, default, check, change, reason, "", Status.ACCEPTED, internal)
        for name, kind, default, check, change in rows
    )
