"""The fields of a request to the control."""

from collections.abc import Callable, Mapping
from typing import Any

from ...config.similar_names import nearest
from .fault_fields import WrongFault


def values_of(
    body: Mapping[str, Any], parsers: Mapping[str, Callable[[Any], Any]], *, needs: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The fields of a body. Raises: WrongFault for one that there is not, or that is missing or wrong."""
    for name in body:
        if name not in parsers:
            like = nearest(name, parsers)
            raise WrongFault(f"no field {name!r}" + (f"; did you mean {like}?" if like else ""))
    missing = [name for name in needs if name not in body]
    if missing:
        raise WrongFault(f"{missing[0]} is missing")
    values = {}
    for name, value in body.items():
        try:
            values[name] = parsers[name](value)
        except ValueError as fault:
            raise WrongFault(f"{name}: expected {fault}, found {value!r}") from None
    return values
