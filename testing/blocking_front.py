"""Turns coroutines into blocking methods, for `Kafka` and its parts.

class Clock(BlockingFront[AsyncClock]):
    pause = blocking(AsyncClock.pause)
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from re import search, sub
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, get_args

from ..config.similar_names import suggest
from ..protocol.api import API
from ..protocol.plural import plural
from .loop_thread import LoopThread, is_in

A = TypeVar("A")
P = ParamSpec("P")
T = TypeVar("T")
API_NAMES = frozenset(spec.name for spec in API.values())
UNITS = {"milliseconds": "ms", "ms": "ms", "seconds": "s", "minutes": "m", "hours": "h", "days": "d", "weeks": "w"}
HINT = ". This call held the event loop, and clients in it: await it, with running_async() or the fixture kafka_async"


class NameSuggestions:
    """A name that there is not is an error with what may be meant, here or in a part of this, or else with all."""

    if not TYPE_CHECKING:  # else every name is valid for type checkers

        def __getattr__(self, name: str) -> object:
            __tracebackhide__ = True
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            known = [each for each in dir(self) if not each.startswith("_") and each != "awaited"]
            parts = {key: part for key, part in vars(self).items() if isinstance(part, NameSuggestions)}
            places = [f"kafka.{key}.{name}" for key, part in parts.items() if key != "awaited" and name in dir(part)]
            meant = f"; did you mean {' or '.join(places)}?" if places else suggest_name(name, known)
            if meant:
                raise AttributeError(f"{type(self).__name__} has no {name!r}{meant}")
            raise AttributeError(f"{type(self).__name__} has {', '.join(known)}, and no {name!r}")


def suggest_name(name: str, known: Iterable[str]) -> str:
    """As `suggest`, also for a name that is the beginning of a known one, or the other way about."""
    names = list(known)
    parts = [each for each in names if each.startswith(f"{name}_") or name.startswith(f"{each}_")]
    return suggest(name, names) or (f"; did you mean {parts[0]}?" if parts else "")


def _names_of_arguments(method: Callable[..., Any]) -> list[str]:
    """What a method takes, with the keys of its `**` where a TypedDict names them."""
    names: list[str] = []
    for parameter in list(signature(method).parameters.values())[1:]:
        keys = getattr(next(iter(get_args(parameter.annotation)), None), "__annotations__", {})
        names += list(keys) if parameter.kind is Parameter.VAR_KEYWORD and keys else [parameter.name]
    return names


def _suggest_argument(told: str, names: Sequence[str], args: Sequence[object]) -> str:
    """What may be meant by an argument that there is not, or by one without a name."""
    if unknown := search(r"unexpected keyword argument '(\w+)'", told):
        by_position = [each for each in (unknown[1], f"{unknown[1]}s") if each in names]
        return f"; {by_position[0]} have no name" if by_position else suggest_name(unknown[1], names)
    apis = [each for each in args if isinstance(each, str) and each in API_NAMES]
    return f": say api={apis[0]!r}" if apis and "api" in names else ""


def _name_last(method: Callable[..., Any], args: Sequence[object]) -> str:
    """The name for the last argument, if it is the only one that needs a name and has none."""
    kinds = {name: parameter.kind for name, parameter in signature(method).parameters.items()}
    without = [name for name, kind in kinds.items() if kind is Parameter.POSITIONAL_OR_KEYWORD]
    named = [name for name, kind in kinds.items() if kind is Parameter.KEYWORD_ONLY]
    return f": say {named[0]}={args[-1]!r}" if named and len(args) == len(without) else ""


def _suggest_time(names: Sequence[str], kwargs: Mapping[str, object]) -> str:
    """The time that is meant by a unit that is given as an argument, as those of timedelta are."""
    if names != ["by"]:
        return ""
    return next((f": say by='{value}{UNITS[name]}'" for name, value in kwargs.items() if name in UNITS), "")


class BlockingFront(NameSuggestions, Generic[A]):
    """Runs coroutine methods of `awaited` in the loop of `thread`, while the caller waits."""

    def __init__(self, awaited: A, thread: LoopThread) -> None:
        self.awaited = awaited
        self._thread = thread

    def _make_coroutine(
        self, method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, T]:
        """Returns the coroutine. Raises: TypeError for wrong arguments, with the name of the blocking method."""
        __tracebackhide__ = True
        try:
            return method(self.awaited, *args, **kwargs)
        except TypeError as wrong:
            told = str(wrong).replace(f"{type(self.awaited).__name__}.", f"{type(self).__name__}.")
            without = f"does not take {plural(len(args), 'argument')} without a name"
            told, names = sub("takes .* positional .* given", without, told), _names_of_arguments(method)
            meant = _suggest_time(names, kwargs) or _suggest_argument(told, names, args) or _name_last(method, args)
            raise TypeError(f"{told}; it takes {', '.join(names) or 'none'}{meant}") from None

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        __tracebackhide__ = True
        try:
            return self._thread.run(work)
        except AssertionError as fault:
            if is_in():
                raise AssertionError(f"{fault}{HINT}") from None
            raise


def blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingFront[A], P], T]:
    """Returns a method of a `BlockingFront` that runs the coroutine method and waits for its result."""

    @wraps(method)
    def call(front: BlockingFront[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        return front._run(front._make_coroutine(method, *args, **kwargs))

    return call
