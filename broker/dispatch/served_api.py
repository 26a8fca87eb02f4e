"""The declaration of an API that this broker serves; the table is in `handlers/__init__.py`.

An item of a request takes between one and forty microseconds to read, handle and answer (docs/limits.md). Handlers of
requests for very many partitions, groups or topics ask their turn after each item: a request may have
`stepdown.request.max.items`. The others handle a request without a break.
"""

from dataclasses import dataclass

from ..security.authorization.authorization_rule import AuthorizationRule

MOST_ITEMS_SETTING = "stepdown.request.max.items"
AS_SET = 1 << 31
"""As many items as the setting says: the handler asks its turn after each of them."""
CHEAP = 20_000
IN_ONE_GO = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedApi:
    """An API in its versions from `first` to `last`, inclusive. Its handler is the module of its name in handlers/.

    `rule`: who may ask. `limit`: the most items of all arrays of a request. `coordinator`: the room of the coordinator
    that answers it, which is imported with the handler. `is_metered`: whether its work counts against request quotas.
    `changes_metadata`: its answer waits until what it has changed is on the disk.
    """

    first: int
    last: int
    rule: AuthorizationRule
    limit: int = IN_ONE_GO
    coordinator: str = ""
    is_metered: bool = True
    changes_metadata: bool = False
