"""Faults to and from plain fields, as JSON, YAML and Python have them."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, Final

from ...config.similar_names import suggest
from ...protocol.api import API, ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.plural import describe_duration
from .fault import Fault
from .field_parsers import NO_VERSIONS
from .kinds import KINDS

BASE: Final = {each.name: each.default for each in fields(Fault)}
NAMES_OF_VALUES: Final = {
    "api": tuple(spec.name for spec in API.values()),
    "code": tuple(code.name for code in ErrorCode if code is not ErrorCode.NONE),
}
LEADING: Final = ("kind", "code", "delay", "what", "function")
"""Fields whose values are shown first, without their names."""
LIBRDKAFKA: Final = "; that is an error of librdkafka, made in the client: use black_hole or delay"


class WrongFault(ValueError):
    """A request to the control is wrong; the message says why."""


def make_fault(values: Mapping[str, Any]) -> Fault:
    """The fault that these fields describe.

    Raises: WrongFault for an unknown kind, field or value, a missing field, and a fault that can never fire.
    """
    kind = str(values.get("kind"))
    if kind not in KINDS:
        raise WrongFault(f"expected a kind of fault: {', '.join(KINDS)}; found {kind!r}{suggest(kind, KINDS)}")
    known = {each.name: each for each in fields_of_kind(KINDS[kind])}
    parsed: dict[str, Any] = {}
    for name, value in values.items():
        if name == "kind":
            continue
        if name not in known:
            hint = suggest(name, known)
            raise WrongFault(f"a fault of kind {kind} has no field {name!r}{hint}; it has {', '.join(known)}")
        if value is None:
            if name == "times":
                parsed["times"] = None
            continue
        try:
            parsed[name] = known[name].metadata["parser"](value)
        except ValueError as fault:
            raise WrongFault(f"{name}: expected {fault}, found {value!r}{suggest_value(name, value)}") from None
    missing = [name for name, each in known.items() if each.default is MISSING and name not in parsed]
    if missing:
        raise WrongFault(f"a fault of kind {kind} needs {', '.join(missing)}")
    excluded = [name for name in KINDS[kind].exclusive if name in parsed]
    if len(excluded) > 1:
        raise WrongFault(f"a fault of kind {kind} has one of {', '.join(excluded)}, not both")
    made = KINDS[kind](**parsed)
    try:
        made.ensure_can_fire()
    except ValueError as wrong:
        raise WrongFault(str(wrong)) from None
    return made


def fault_to_fields(fault: Fault) -> dict[str, Any]:
    """The fields that differ from their defaults, as they are written in JSON."""
    shown: dict[str, Any] = {"kind": fault.kind}
    for each in fields_of_kind(type(fault)):
        value = getattr(fault, each.name)
        if each.default is MISSING or value != BASE.get(each.name, each.default):
            shown[each.name] = _value_as_json(each.name, value)
    return shown


def describe_fault(shown: Mapping[str, Any]) -> str:
    """Returns such as "error NOT_LEADER_OR_FOLLOWER, api=Produce, times=3", from what `fault_to_fields` returns."""
    texts = {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in shown.items()}
    if "delay" in shown:
        texts["delay"] = describe_duration(shown["delay"])
    first = " ".join(texts.pop(name) for name in LEADING if name in texts)
    return ", ".join([first, *(f"{name}={text}" for name, text in texts.items())])


def fields_of_kind(kind: type[Fault]) -> list[Field[Any]]:
    """The fields that a kind has: those of all faults, then its own."""
    return [each for each in fields(kind) if each.name not in kind.missing_fields]


def own_field_names(kind: type[Fault]) -> list[str]:
    """The names of the fields that only this kind has."""
    return [each.name for each in fields(kind) if each.name not in BASE]


def _value_as_json(name: str, value: Any) -> Any:
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


def suggest_value(field: str, value: Any) -> str:
    """Suggests an API or an error code for a wrong name, which may be the beginning of one."""
    if field != "api" and isinstance(value, str) and value in NAMES_OF_VALUES["api"]:
        return f"; say api={value!r}"
    if field == "api" and value in NAMES_OF_VALUES["code"]:
        return "; that is an error code: the API comes first"
    if field == "code" and _is_of_librdkafka(value):
        return LIBRDKAFKA
    if field not in NAMES_OF_VALUES or not isinstance(value, str):
        return ""
    known = NAMES_OF_VALUES[field]
    longer = next((each for each in known if value and each.startswith(value)), "")
    return f"; did you mean {longer}?" if longer else suggest(value, known)


def _is_of_librdkafka(code: Any) -> bool:
    """Whether it is one of librdkafka's own errors, such as `_MSG_TIMED_OUT` or -192."""
    return (
        code.startswith("_")
        if isinstance(code, str)
        else isinstance(code, int) and code < ErrorCode.UNKNOWN_SERVER_ERROR
    )
