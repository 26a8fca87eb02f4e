"""A fault: which requests it is for, how often, and what goes wrong then; read from plain fields as JSON has them.

| kind | what goes wrong | fields of its own |
|---|---|---|
| `error` | an error code is answered: for each matching partition, or for all in the API's own form | `code`, `when` |
| `delay` | the request, or its answer, waits | `delay`, `when` |
| `hold` | the same until it is released or removed | `when` |
| `drop` | the connection is closed; with `bytes`, after so many bytes of the answer | `when`, `bytes` |
| `black_hole` | the request is read and never answered | |
| `throttle` | the answer has a throttle time; with `mute` the next request waits so long | `delay`, `mute` |
| `corrupt` | fetched records: `crc`, `truncated`; any answer: `correlation_id`, `length`, `garbage` | `what` |
| `watermark` | Fetch answers watermarks that are so much higher | `high_watermark`, `last_stable_offset` |
| `duplicate` | a Produce is appended twice | |
| `lose` | a Produce is answered as a success and not appended | |
| `versions` | only these versions of an API are served, as by an older broker; `none`: not at all | `only` |
| `metadata` | Metadata names this leader; -1: none, LEADER_NOT_AVAILABLE | `leader` |
| `stale_metadata` | Metadata names the leaders of the time when the fault was armed | |
| `disk` | writing to a partition fails: `full` or `error` | `what` |
| `lose_marker` | the end of a transaction does not reach a partition, which keeps it open | |
| `hook` | what an async function of Python says, see `request_hook.py` | `function` |

`when` is `before` (nothing has happened yet: the usual) or `after` (the request has had its effect).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ...config.similar_names import nearest
from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode
from .field_parsers import apis, code, count, duration_ms, flag, number, one_of, share, text, versions
from .request_hook import Hook, async_function

Versions = tuple[int, int]
NO_VERSIONS: Final = (0, -1)


class WrongFault(ValueError):
    """What was asked for cannot be a fault; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is left at its default matches everything. `times` None: until it is removed. `after`: lets so many pass."""

    kind: str
    api: tuple[ApiKey, ...] = ()
    versions: Versions | None = None
    broker: int | None = None
    topic: str | None = None
    partition: int | None = None
    client_id: str | None = None
    group: str | None = None
    """A group or a transactional id."""
    times: int | None = 1
    after: int = 0
    probability: float = 1.0
    optional: bool = False
    """Nobody minds when it never fires."""

    when: str = "before"
    code: ErrorCode = ErrorCode.NONE
    delay: int = 0
    bytes: int | None = None
    mute: bool = True
    what: str = ""
    high_watermark: int = 0
    last_stable_offset: int = 0
    only: Versions = NO_VERSIONS
    leader: int = -1
    function: Hook | None = None

    @property
    def is_for_partitions(self) -> bool:
        """Whether it names the partitions that it is for."""
        return self.topic is not None or self.partition is not None


SCOPE: Final = {
    "api": apis,
    "versions": versions,
    "broker": number,
    "topic": text,
    "partition": count,
    "client_id": text,
    "group": text,
    "times": count,
    "after": count,
    "probability": share,
    "optional": flag,
}
WHEN: Final = one_of("before", "after")
OWN: Final[Mapping[str, Mapping[str, Any]]] = {
    "error": {"code": code, "when": WHEN},
    "delay": {"delay": duration_ms, "when": WHEN},
    "hold": {"when": WHEN},
    "drop": {"when": WHEN, "bytes": count},
    "black_hole": {},
    "throttle": {"delay": duration_ms, "mute": flag},
    "corrupt": {"what": one_of("crc", "truncated", "correlation_id", "length", "garbage")},
    "watermark": {"high_watermark": number, "last_stable_offset": number},
    "duplicate": {},
    "lose": {},
    "versions": {"only": versions},
    "metadata": {"leader": number},
    "stale_metadata": {},
    "disk": {"what": one_of("full", "error")},
    "lose_marker": {},
    "hook": {"function": async_function},
}
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "error": ("code",),
    "delay": ("delay",),
    "throttle": ("delay",),
    "corrupt": ("what",),
    "versions": ("api",),
    "metadata": ("leader",),
    "disk": ("what",),
    "hook": ("function",),
}
NOTHING: Final[tuple[str, ...]] = ()
WITHOUT_REQUEST: Final = ("disk", "lose_marker")
"""Kinds that happen to a partition, whoever asks."""
OF_REQUESTS: Final = ("api", "versions", "client_id", "group")
"""The scope that these do not have."""
STANDING: Final = ("versions", "metadata", "stale_metadata", "disk", "hook")
"""How things are until they are removed, unless `times` says otherwise."""

APIS_OF: Final = {
    "watermark": (ApiKey.FETCH,),
    "duplicate": (ApiKey.PRODUCE,),
    "lose": (ApiKey.PRODUCE,),
    "metadata": (ApiKey.METADATA,),
    "stale_metadata": (ApiKey.METADATA,),
}
"""Kinds that can happen to some requests only."""


def fault_of(fields: Mapping[str, Any]) -> Fault:
    """The fault that these fields describe.

    Raises: WrongFault for a kind, a field or a value that there is not, and for a field that is missing.
    """
    kind = str(fields.get("kind"))
    if kind not in OWN:
        raise WrongFault(f"expected a kind of fault: {', '.join(OWN)}; found {kind!r}{_hint(kind, OWN)}")
    scope = {name: read for name, read in SCOPE.items() if kind not in WITHOUT_REQUEST or name not in OF_REQUESTS}
    parsers = {**scope, **OWN[kind]}
    values: dict[str, Any] = {"kind": kind}
    if kind in APIS_OF:
        values["api"] = APIS_OF[kind]
    if kind in STANDING:
        values["times"] = None
    if kind == "corrupt" and fields.get("what") in ("crc", "truncated"):
        values["api"] = (ApiKey.FETCH,)
    for name, value in fields.items():
        if name == "kind":
            continue
        if name not in parsers:
            hint = _hint(name, parsers)
            raise WrongFault(f"a fault of kind {kind} has no field {name!r}{hint}; it has {', '.join(parsers)}")
        if value is None:
            if name == "times":
                values["times"] = None
            continue
        try:
            values[name] = parsers[name](value)
        except ValueError as fault:
            raise WrongFault(f"{name}: expected {fault}, found {value!r}") from None
    missing = [name for name in REQUIRED.get(kind, NOTHING) if fields.get(name) is None]
    if missing:
        raise WrongFault(f"a fault of kind {kind} needs {', '.join(missing)}")
    return Fault(**values)


def fields_of(fault: Fault) -> dict[str, Any]:
    """The fields that say something, as they are written in JSON."""
    shown: dict[str, Any] = {"kind": fault.kind}
    for name in (*SCOPE, *OWN[fault.kind]):
        value = getattr(fault, name)
        if value != getattr(DEFAULTS, name) or name in REQUIRED.get(fault.kind, ()):
            shown[name] = _shown(name, value)
    return shown


def _shown(name: str, value: Any) -> Any:
    if name == "api":
        return [_api_name(key) for key in value]
    if name == "code":
        return value.name
    if name == "function":
        return getattr(value, "__qualname__", repr(value))
    if name in ("versions", "only"):
        return "none" if value == NO_VERSIONS else f"{value[0]}-{value[1]}"
    return value


def _api_name(key: ApiKey) -> str:
    return "".join(part.capitalize() for part in key.name.split("_"))


def _hint(name: str, known: Any) -> str:
    like = nearest(name, [each.replace("_", ".") for each in known])
    return "" if like is None else f"; did you mean {like.replace('.', '_')}?"


DEFAULTS: Final = Fault(kind="")
