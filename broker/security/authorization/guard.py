"""Wraps a handler with an authorization check: what is denied gets the API's authorization error, the rest is
handled.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from types import CoroutineType, ModuleType
from typing import TYPE_CHECKING, Any

from ....protocol.errors import ApiError, ErrorCode
from .access import RestrictedAccess
from .authorization_rule import Items, Rule
from .authorizer import Authorizer

if TYPE_CHECKING:
    from ...core import Core
    from ...dispatch.call import Call

Handle = Callable[[Any, Any, "Call"], Any]
"""What a handler's module has: the response, or what to await for it."""


def guarded(module: ModuleType, rule: Rule, authorizer: Authorizer) -> Handle:
    """The module's `handle`, behind its rule. It raises the ApiError that refuses a whole request."""

    def handle(core: "Core", request: Any, call: "Call") -> Any:
        access = RestrictedAccess(authorizer, call.principal, call.peer.host, call.key.name)
        call.access = access
        for check in rule.whole:
            error = check(access, request, call.version)
            if error is not None:
                raise error
        if rule.items is not None:
            allowed, refused = _split(rule.items, rule.items.judge(access, request, call.version), request)
            if refused:
                return _handle_allowed(module, rule.items, core, request, call, allowed, refused)
        return module.handle(core, request, call)

    return handle


Refused = dict[ErrorCode, tuple[ApiError, list[Any]]]


def _split(items: Items, judged: Callable[[Any], ApiError | None], request: Any) -> tuple[list[Any], Refused]:
    """The items that are allowed, and those that are not, by the error they get."""
    allowed: list[Any] = []
    refused: Refused = {}
    for item in getattr(request, items.field) or ():
        error = judged(item)
        if error is None:
            allowed.append(item)
        else:
            refused.setdefault(error.code, (error, []))[1].append(item)
    return allowed, refused


def _handle_allowed(
    module: ModuleType,
    items: Items,
    core: "Core",
    request: Any,
    call: "Call",
    allowed: Sequence[Any],
    refused: Refused,
) -> Any | Coroutine[Any, Any, Any]:
    """The answers to what is allowed, which has to be done first, then the refusals."""
    response = None
    if allowed:
        response = module.handle(core, replace(request, **{items.field: allowed}), call)
        if type(response) is CoroutineType:
            return _finish_later(response, module, items, request, call, refused)
    return _with_refusals(response, module, items, request, call, refused)


async def _finish_later(
    handling: Coroutine[Any, Any, Any], module: ModuleType, items: Items, request: Any, call: "Call", refused: Refused
) -> Any:
    return _with_refusals(await handling, module, items, request, call, refused)


def _with_refusals(
    response: Any | None, module: ModuleType, items: Items, request: Any, call: "Call", refused: Refused
) -> Any | None:
    for error, denied in refused.values():
        refusal = module.refuse(replace(request, **{items.field: denied}), error, call)
        if response is not None and refusal is not None:
            answers = (*getattr(response, items.answers), *getattr(refusal, items.answers))
            refusal = replace(response, **{items.answers: answers})
        response = refusal
    return response
