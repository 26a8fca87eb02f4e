"""The authorization rule of an API: the operation and resource for which a request needs permission.

`whole`: a request without these permissions fails as a whole. `items`: parts of the request that are checked one by
one; those that are not allowed get the API's error, the others their answers. Handlers check what only they know,
through `Call.access`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....protocol.errors import ApiError
from .access import Access

Check = Callable[[Access, Any, int], ApiError | None]
"""The error of a request in that version; None: it may go on."""
Judge = Callable[[Any], ApiError | None]
"""The error of an item; None: it is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizedItems:
    """Parts of a request: their field, the field of their answers in the response, and the function that judges
    them.
    """

    field: str
    answers: str
    judge: Callable[[Access, Any], Judge]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationRule:
    """The checks before a handler; the first that fails counts.

    `asks`: the permissions that the handler itself checks.
    """

    whole: tuple[Check, ...] = ()
    items: AuthorizedItems | None = None
    asks: str = ""
