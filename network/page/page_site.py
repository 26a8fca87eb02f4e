"""The page at / with its files, and its JSON below /api/.

The page loads nothing from other hosts and runs only scripts of its own files.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...protocol.errors import ApiError, ErrorCode
from ..http.server import Page, PageRequest
from .page_access import PageAccess
from .page_query import PageQuery, QueryFault

View = Callable[[PageQuery], Awaitable[dict[str, Any]]]
"""Makes the document for a path below /api/. Raises: QueryFault, ApiError."""

Action = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Carries out a POST with these fields. Raises: QueryFault, ApiError."""

API = "/api/"
JSON = "application/json"
DESCRIPTION = "/api/openapi.json"
NO_ACTIONS: Mapping[str, Action] = MappingProxyType({})
FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.svg": ("page.svg", "image/svg+xml"),
    DESCRIPTION: ("openapi.json", JSON),
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-store"),
)
ABSENT = frozenset((ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.OFFSET_OUT_OF_RANGE))


class PageSite:
    """`make_views` returns the views by name; it is called at the first request, so that it can import them.

    `actions`: the changes that the page may make, by name.
    """

    def __init__(
        self,
        make_views: Callable[[], Mapping[str, View]],
        access: PageAccess,
        actions: Mapping[str, Action] = NO_ACTIONS,
    ) -> None:
        self._make_views = make_views
        self._access = access
        self._actions = actions
        self._views: Mapping[str, View] | None = None
        self._parameters: Mapping[str, list[str]] | None = None

    async def find_refusal(self, request: PageRequest) -> Page | None:
        page = await self._access.find_refusal(request) if _is_page_path(request.path) else None
        return None if page is None else _add_headers(page)

    async def answer(self, request: PageRequest) -> Page | None:
        if not _is_page_path(request.path):
            return None
        if request.method == "POST":
            return _add_headers(await self._answer_action(request))
        if request.path == DESCRIPTION:
            return _add_headers(self._describe_views())
        return _add_headers(_read_file(request.path) or await self._answer_view(request))

    async def _answer_action(self, request: PageRequest) -> Page:
        action = self._actions.get(request.path.removeprefix(API))
        if action is None:
            return _make_json(HTTPStatus.METHOD_NOT_ALLOWED, {"error": "nothing can be changed at this path"})
        return await _make_json_answer(lambda: action(_read_fields(request)))

    def _describe_views(self) -> Page:
        """openapi.json, without paths that this server does not have."""
        document = json.loads(_read_bytes(DESCRIPTION))
        views = {f"{API}{name}" for name in self._find_views()}
        document["paths"] = {path: described for path, described in document["paths"].items() if path in views}
        return _make_json(HTTPStatus.OK, document)

    def _find_views(self) -> Mapping[str, View]:
        if self._views is None:
            self._views = self._make_views()
        return self._views

    async def _answer_view(self, request: PageRequest) -> Page:
        views = self._find_views()
        view = views.get(request.path.removeprefix(API))
        if view is None:
            there = ", ".join(f"{API}{name}" for name in views)
            return _make_json(HTTPStatus.NOT_FOUND, {"error": f"nothing at this path; there is {there}"})
        parameters = self._find_parameters().get(request.path)

        async def make() -> dict[str, Any]:
            query = PageQuery(request.query)
            if parameters is not None:
                query.refuse_unknown(parameters)
            return await view(query)

        return await _make_json_answer(make)

    def _find_parameters(self) -> Mapping[str, list[str]]:
        """The parameters of each path, as openapi.json has them."""
        if self._parameters is None:
            paths = json.loads(_read_bytes(DESCRIPTION))["paths"]
            self._parameters = {
                path: [each["name"] for each in described["get"]["parameters"]] for path, described in paths.items()
            }
        return self._parameters


async def _make_json_answer(make: Callable[[], Awaitable[dict[str, Any]]]) -> Page:
    try:
        return _make_json(HTTPStatus.OK, await make())
    except QueryFault as fault:
        return _make_json(HTTPStatus.BAD_REQUEST, {"error": str(fault)})
    except ApiError as fault:
        status = HTTPStatus.NOT_FOUND if fault.code in ABSENT else HTTPStatus.SERVICE_UNAVAILABLE
        return _make_json(status, {"error": str(fault), "code": ErrorCode(fault.code).name})


def _read_fields(request: PageRequest) -> dict[str, Any]:
    """The fields of a JSON object. Other content types are refused: pages of other sites could send those without
    asking.

    Raises: QueryFault.
    """
    kinds = [bytes(value) for name, value in request.headers if bytes(name).lower() == b"content-type"]
    if [kind.partition(b";")[0].strip() for kind in kinds] != [JSON.encode()]:
        raise QueryFault(f"content-type: expected {JSON}")
    try:
        fields = json.loads(request.body)
    except (ValueError, RecursionError) as fault:
        raise QueryFault(f"the body is no JSON: {fault}") from fault
    if not isinstance(fields, dict):
        raise QueryFault("expected a JSON object")
    return fields


def _is_page_path(path: str) -> bool:
    return path in FILES or path.startswith(API)


def _add_headers(page: Page) -> Page:
    return replace(page, headers=(*HEADERS, *page.headers))


def _read_file(path: str) -> Page | None:
    if path not in FILES:
        return None
    return Page(body=_read_bytes(path), content_type=FILES[path][1])


def _read_bytes(path: str) -> bytes:
    return (Path(__file__).parent / FILES[path][0]).read_bytes()


def _make_json(status: HTTPStatus, document: dict[str, Any]) -> Page:
    return Page(body=json.dumps(document).encode() + b"\n", content_type=JSON, status=status)
