"""Wraps a handler with an authorization check: what is denied gets the API's authorization error, the rest is
handled.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import CoroutineType, ModuleType
from typing import TYPE_CHECKING, Any

from ...protocol.errors import ApiError, ErrorCode
from ..security.authorization.access import RestrictedAccess
from ..security.authorization.authorization_rule import AuthorizationRule, AuthorizedItems
from ..security.authorization.authorizer import Authorizer

if TYPE_CHECKING:
    from ..core import Core
    from .call import Call

FEW_ITEMS = 16

Handle = Callable[[Any, Any, "Call"], Any]
"""The `handle` of a module: returns the response, or an awaitable of it."""


def guard(module: ModuleType, rule: AuthorizationRule, authorizer: Authorizer) -> Handle:
    """The module's `handle`, behind its rule. It raises the ApiError that refuses a whole request."""

    def handle(core: "Core", request: Any, call: "Call") -> Any:
        access = RestrictedAccess(authorizer, call.principal, call.peer.host, call.key.name, core.denials)
        call.access = access
        for check in rule.whole:
            error = check(access, request, call.version)
            if error is not None:
                raise error
        if rule.items is None:
            return module.handle(core, request, call)
        asked = getattr(request, rule.items.field) or ()
        if len(asked) > FEW_ITEMS:
            return _authorize_in_turns_and_handle(module, rule.items, core, request, call)
        judge = rule.items.judge(access, request)
        errors = [judge(item) for item in asked]
        if not any(errors):
            return module.handle(core, request, call)
        return _handle_allowed_items(module, rule.items, core, request, call, _GuardedItems(asked, errors))

    return handle


class _GuardedItems:
    """The items that are allowed, and those that are not, by the error they get."""

    def __init__(self, items: Iterable[Any], errors: Iterable[ApiError | None]) -> None:
        self.allowed: list[Any] = []
        self.refused: dict[ErrorCode, tuple[ApiError, list[Any]]] = {}
        for item, error in zip(items, errors, strict=True):
            if error is None:
                self.allowed.append(item)
            else:
                self.refused.setdefault(error.code, (error, []))[1].append(item)


async def _authorize_in_turns_and_handle(
    module: ModuleType, items: AuthorizedItems, core: "Core", request: Any, call: "Call"
) -> Any:
    """Checks many items in turns; the handler gets those that are allowed in one request."""
    asked = getattr(request, items.field)
    judge = items.judge(call.access, request)
    judged = _GuardedItems(asked, await call.turn.map(judge, asked))
    if not judged.refused:
        return await _await_response(module.handle(core, request, call))
    return await _handle_allowed_items(module, items, core, request, call, judged)


async def _handle_allowed_items(
    module: ModuleType, items: AuthorizedItems, core: "Core", request: Any, call: "Call", judged: _GuardedItems
) -> Any | None:
    """Handles the allowed items first, then adds the refusals of the others."""
    response, refusals = None, []
    if judged.allowed:
        response = await _await_response(module.handle(core, replace(request, **{items.field: judged.allowed}), call))
    for error, denied in judged.refused.values():
        part = replace(request, **{items.field: denied})
        if call.is_small:
            refusals.append(module.refuse(part, error, call))
        else:
            call.has_many_items = True
            refusals.append(await core.run_in_worker(module.refuse, part, error, call))
    return _merge_responses(response, refusals, items)


def _merge_responses(response: Any | None, refusals: Sequence[Any], items: AuthorizedItems) -> Any | None:
    """One response with the answers of all; its other fields are those of the first."""
    responses = [each for each in (response, *refusals) if each is not None]
    if not responses:
        return None
    answers = [answer for each in responses for answer in getattr(each, items.answers)]
    return replace(responses[0], **{items.answers: answers})


async def _await_response(response: Any) -> Any | None:
    return await response if type(response) is CoroutineType else response
