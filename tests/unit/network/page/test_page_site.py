"""The page's files: small, complete, without a line of markup made of values, under a strict policy."""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from stepdown.network.http.server import Page, PageRequest
from stepdown.network.page import page_site
from stepdown.network.page.page_query import PageQuery, QueryFault
from stepdown.network.page.page_site import DESCRIPTION, FILES, PageSite
from stepdown.protocol.errors import ApiError, ErrorCode
from support.page_content import access

FOLDER = Path(page_site.__file__).parent
MOST_BYTES = 150_000


async def show(query: PageQuery) -> dict[str, Any]:
    return {"name": query.text("name")}


async def fail(query: PageQuery) -> dict[str, Any]:
    raise ApiError("it is loading", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


async def ask(path: str, query: str = "", host: str = "localhost") -> Page:
    site = PageSite(lambda: {"show": show, "fail": fail}, access())
    request = PageRequest(path=path, query=query, headers=[(b"host", host.encode())], peer="127.0.0.1")
    page = await site.find_refusal(request) or await site.answer(request)
    assert page is not None
    return page


async def test_what_is_not_its_own_is_left_to_others() -> None:
    request = PageRequest(path="/metrics", query="", headers=[], peer="127.0.0.1")
    site = PageSite(dict, access())
    assert (await site.find_refusal(request), await site.answer(request)) == (None, None)


@pytest.mark.parametrize("path", sorted(FILES.keys() - {DESCRIPTION}))
async def test_a_file_is_served_as_what_it_is(path: str) -> None:
    page = await ask(path)
    assert page.body == (FOLDER / FILES[path][0]).read_bytes()
    assert page.content_type == FILES[path][1]


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [("/", "localhost", 200), ("/api/show", "localhost", 200), ("/api/x", "localhost", 404), ("/", "evil", 403)],
)
async def test_every_answer_has_the_policy_and_lets_no_other_origin_in(path: str, host: str, status: int) -> None:
    page = await ask(path, host=host)
    headers = dict(page.headers)
    assert page.status == status
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert not [name for name in headers if name.startswith("access-control-")]


async def test_values_cannot_become_headers_or_markup() -> None:
    page = await ask("/api/show", "name=%0d%0aSet-Cookie:+a%3Db%3Cscript%3E")
    assert page.content_type == "application/json"
    assert not [value for _, value in page.headers if "\n" in value or "Set-Cookie" in value]
    assert json.loads(page.body) == {"name": "\r\nSet-Cookie: a=b<script>"}


async def test_faults_have_a_sentence_and_a_status() -> None:
    broken, loading = await ask("/api/show", "%ff"), await ask("/api/fail")
    assert (broken.status, loading.status) == (HTTPStatus.BAD_REQUEST, HTTPStatus.SERVICE_UNAVAILABLE)
    assert json.loads(loading.body) == {"error": "it is loading", "code": "COORDINATOR_LOAD_IN_PROGRESS"}


async def act(body: bytes, path: str = "/api/act", content_type: str = "application/json") -> Page:
    async def do(fields: Mapping[str, Any]) -> dict[str, Any]:
        if not fields:
            raise QueryFault("do: expected something")
        return dict(fields)

    site = PageSite(lambda: {"act": show}, access(), {"act": do})
    headers = [(b"host", b"localhost"), (b"Content-Type", content_type.encode())]
    request = PageRequest(path=path, query="", headers=headers, peer="127.0.0.1", method="POST", body=body)
    page = await site.find_refusal(request) or await site.answer(request)
    assert page is not None
    return page


async def test_an_action_takes_an_object_and_nothing_else() -> None:
    done = await act(b'{"a": 1}', content_type="application/json; charset=utf-8")
    assert (done.status, json.loads(done.body)) == (HTTPStatus.OK, {"a": 1})
    for body in (b"{}", b"", b"[]", b"{", b"[" * 100_000, b"\xff"):
        assert (await act(body)).status == HTTPStatus.BAD_REQUEST, body[:10]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "text/plain;application/json"])
async def test_what_a_form_of_another_site_sends_is_refused(kind: str) -> None:
    page = await act(b'{"a": 1}', content_type=kind)
    assert (page.status, json.loads(page.body)) == (400, {"error": "content-type: expected application/json"})


@pytest.mark.parametrize("path", ["/", "/page.js", "/api/other", "/api/overview"])
async def test_nothing_else_can_be_changed(path: str) -> None:
    assert (await act(b"{}", path)).status == HTTPStatus.METHOD_NOT_ALLOWED


async def test_a_view_may_say_which_parameter_is_wrong() -> None:
    async def refuse(query: PageQuery) -> dict[str, Any]:
        raise QueryFault("offset is a number")

    site = PageSite(lambda: {"refuse": refuse}, access())
    page = await site.answer(PageRequest(path="/api/refuse", query="", headers=[(b"host", b"[::1]:1")], peer="::1"))
    assert page is not None
    assert json.loads(page.body) == {"error": "offset is a number"}


def test_all_files_together_are_small() -> None:
    assert sum((FOLDER / name).stat().st_size for name, _ in FILES.values()) <= MOST_BYTES


@pytest.mark.parametrize("name", ["page.html", "page.js", "page.css"])
def test_no_file_asks_anybody_else_or_makes_markup_of_values(name: str) -> None:
    text = (FOLDER / name).read_text()
    assert not re.findall(r"https?://|//[a-z]+\.|@import|url\(", text)
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text)


def test_the_html_has_no_script_or_style_of_its_own() -> None:
    text = (FOLDER / "page.html").read_text()
    assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", text)
