"""The query parameters of a request for JSON; each is bounded."""

from collections.abc import Iterable
from urllib.parse import parse_qsl

from ...config.similar_names import suggest

MOST_PARAMETERS = 16
MOST_ROWS = 200
ROWS = 50
MOST_DIGITS = 20
MOST_NAME = 100


class QueryFault(Exception):
    """A parameter cannot be read; the message names it and its allowed values."""


class PageQuery:
    """The parameters after the question mark."""

    def __init__(self, text: str) -> None:
        """Raises: QueryFault."""
        try:
            pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS)
        except ValueError as fault:
            raise QueryFault(f"the query cannot be read: {fault}") from fault
        self._values = dict(pairs)

    def refuse_unknown(self, known: Iterable[str]) -> None:
        """Raises: QueryFault, for a parameter that there is not."""
        names = tuple(known)
        for name in self._values:
            if name not in names:
                there = f"there is {', '.join(names)}" if names else "there are none"
                raise QueryFault(f"no parameter {name[:MOST_NAME]!r}{suggest(name[:MOST_NAME], names) or f'; {there}'}")

    def text(self, name: str) -> str:
        """The value of a parameter, "" if it is not given."""
        return self._values.get(name, "")

    def need(self, name: str) -> str:
        """The value of a parameter. Raises: QueryFault if it is not given, or empty."""
        value = self.text(name)
        if not value:
            raise QueryFault(f"{name} is missing")
        return value

    def number(self, name: str, default: int, *, least: int = 0, most: int = 2**63 - 1) -> int:
        """A whole number from `least` to `most`. Raises: QueryFault."""
        value = self.text(name)
        if not value:
            return default
        is_number = value.removeprefix("-").isdecimal() and value.isascii() and len(value) <= MOST_DIGITS
        if not is_number or not least <= int(value) <= most:
            raise QueryFault(f"{name} is a whole number from {least} to {most}")
        return int(value)

    def flag(self, name: str) -> bool:
        """Whether it is true. Raises: QueryFault."""
        value = self.text(name)
        if value not in ("", "true", "false"):
            raise QueryFault(f"{name} is true or false")
        return value == "true"

    @property
    def limit(self) -> int:
        """The most rows to return. Raises: QueryFault."""
        return self.number("limit", ROWS, least=1, most=MOST_ROWS)
