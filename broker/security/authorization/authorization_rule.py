"""The authorization rule of an API: the operation and resource for which a request needs permission.

`whole`: without it the request fails. `items`: parts of the request that stand or fall by themselves; those that are
not allowed are refused, in the API's own form, beside the answers to the others. About what only they know, handlers
ask for themselves, through `Call.access`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....protocol.errors import ApiError
from .access import Access

Check = Callable[[Access, Any, int], ApiError | None]
"""What is wrong with a request of that version; None: it may go on."""
Judge = Callable[[Any], ApiError | None]
"""What is wrong with an item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizedItems:
    """Parts of a request: the field that has them, the field of the response that answers them, and who judges them."""

    field: str
    answers: str
    judge: Callable[[Access, Any, int], Judge]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationRule:
    """What is checked before a handler; the first check that fails counts. `asks`: what the handler asks for itself."""

    whole: tuple[Check, ...] = ()
    items: AuthorizedItems | None = None
    asks: str = ""
