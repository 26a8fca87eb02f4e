"""An operation of the control: its method and path, its fields, and the function that does it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...config.similar_names import suggest
from .fault_fields import WrongFault

Answer = dict[str, Any]
Fields = Mapping[str, Any]
Reader = Callable[[Any], Any]
ID = "{id}"
PATHS_OF_CLUSTERS = frozenset(
    {
        "brokers/fence",
        "brokers/unfence",
        "coordinators/move",
        "elections/hold",
        "elections/release",
        "followers/pause",
        "followers/resume",
        "followers/slow",
        "isr/expand",
        "isr/shrink",
        "leaders/bump-epoch",
        "leaders/elect",
        "leaders/move",
        "leaders/take",
        "metadata/hold",
        "metadata/release",
    }
)
FIELDS_OF_CLUSTERS = frozenset({"leader_of", "follower_of"})
"""A single broker refuses these fields, and `PATHS_OF_CLUSTERS`: they need several brokers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlOperation:
    """`path` may have {id}, the number of a fault: `act` is given it as "id", beside the fields.

    `fields` have a parser each; None: `act` is given the body as it is.
    """

    method: str = "POST"
    path: str
    what: str
    act: Callable[[Fields], Awaitable[Answer]]
    fields: Mapping[str, Reader] | None = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    async def answer(self, number: int | None, body: Fields) -> Answer:
        """Parses the body, does the operation and returns its answer. Raises: WrongFault, ApiError."""
        fields = body if self.fields is None else parse_fields(body, self.fields, needs=self.needs)
        return await self.act(fields if number is None else {**fields, "id": number})

    def to_json(self) -> Answer:
        """The operation as `GET /` lists it."""
        shown: Answer = {"method": self.method, "path": f"/{self.path}", "what": self.what}
        if self.fields is not None:
            shown["fields"] = {name: describe_expectation(reader) for name, reader in self.fields.items()}
            shown["needs"] = list(self.needs)
        return shown


def describe_expectation(reader: Reader) -> str:
    """What a parser takes, in its own words."""
    try:
        reader(object())
    except ValueError as refusal:
        return str(refusal)
    return "anything"


def parse_fields(body: Fields, parsers: Mapping[str, Reader], *, needs: tuple[str, ...] = ()) -> dict[str, Any]:
    """The parsed fields of a body. Raises: WrongFault for a field that is unknown, missing or wrong."""
    for name in body:
        if name not in parsers:
            raise WrongFault(f"no field {name!r}{suggest(name, parsers)}")
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
