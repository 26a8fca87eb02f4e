"""The page is for loopback addresses, or for who gives the password; other sites' pages see nothing."""

import base64
from http import HTTPStatus

import pytest
from stepdown.network.http.server import PageRequest
from support.page_content import access

HERE = "127.0.0.1"


async def ask(password: str = "", peer: str = HERE, **headers: str) -> HTTPStatus:
    given = {"host": "localhost:9464", **headers}
    lines = [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items()]
    refusal = await access(password).find_refusal(PageRequest(path="/", query="", headers=lines, peer=peer))
    return HTTPStatus.OK if refusal is None else refusal.status


def login(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("peer", [HERE, "127.8.0.1", "::1", "::ffff:127.0.0.1"])
async def test_loopback_addresses_see_it(peer: str) -> None:
    assert await ask(peer=peer) == HTTPStatus.OK


@pytest.mark.parametrize("peer", ["192.0.2.7", "::ffff:192.0.2.7", "", "2001:db8::1"])
async def test_others_do_not(peer: str) -> None:
    assert await ask(peer=peer) == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize(
    ("peer", "headers", "why"),
    [
        ("192.0.2.7", {}, "set stepdown.page.password, or forward the port: ssh -L 9464:127.0.0.1:9464 HOST"),
        (HERE, {"origin": "http://evil.example"}, "pages of other origins are not answered"),
        (HERE, {"host": "evil.example:9464"}, "without a token or password the host has to be 127.0.0.1, localhost"),
        (HERE, {"via": "1.1 proxy"}, "without a token or password nothing is answered that comes through a proxy"),
    ],
)
async def test_who_is_refused_is_told_why(peer: str, headers: dict[str, str], why: str) -> None:
    """No test had seen what the page says with 403: it could have lost the way by a password or by SSH."""
    lines = [(name.encode(), value.encode()) for name, value in {"host": "localhost:9464", **headers}.items()]
    refusal = await access("").find_refusal(PageRequest(path="/", query="", headers=lines, peer=peer))
    assert refusal is not None
    assert why in refusal.body.decode()


async def test_a_name_that_only_leads_here_is_refused() -> None:
    """DNS rebinding: the page of another site asks its own name, which has become 127.0.0.1."""
    assert await ask(host="evil.example:9464") == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize("password", ["", "secret"])
async def test_pages_of_other_origins_are_refused(password: str) -> None:
    right = login("me:secret")
    assert await ask(password, origin="http://evil.example", authorization=right) == HTTPStatus.FORBIDDEN
    assert await ask(password, sec_fetch_site="cross-site", sec_fetch_mode="no-cors", authorization=right) == 403
    assert await ask(password, sec_fetch_site="same-site", sec_fetch_mode="cors", authorization=right) == 403


@pytest.mark.parametrize("password", ["", "secret"])
async def test_the_page_itself_may_post(password: str) -> None:
    right = login("me:secret")
    for origin in ("http://localhost:9464", "https://localhost:9464"):
        assert await ask(password, origin=origin, sec_fetch_site="same-origin", authorization=right) == HTTPStatus.OK
    for origin in ("null", "http://localhost", "http://localhost:9465", "localhost:9464"):
        assert await ask(password, origin=origin, authorization=right) == HTTPStatus.FORBIDDEN, origin


async def test_a_name_that_only_leads_here_may_not_post_to_itself() -> None:
    assert await ask(host="evil.example:9464", origin="http://evil.example:9464") == HTTPStatus.FORBIDDEN


async def test_a_link_from_elsewhere_may_be_followed() -> None:
    assert await ask(sec_fetch_site="cross-site", sec_fetch_mode="navigate") == HTTPStatus.OK
    assert await ask(sec_fetch_site="same-origin", sec_fetch_mode="cors") == HTTPStatus.OK


@pytest.mark.parametrize("peer", [HERE, "192.0.2.7"])
async def test_with_a_password_everybody_gives_it(peer: str) -> None:
    assert await ask("secret", peer, authorization=login("anyone:secret")) == HTTPStatus.OK
    wrong = ("", "Basic", "Basic !", login("secret"), login("me:secre"), login("me:secret2"), "Bearer secret")
    for authorization in wrong:
        assert await ask("secret", peer, authorization=authorization) == HTTPStatus.UNAUTHORIZED, authorization


@pytest.mark.parametrize("header", ["forwarded", "via", "x-forwarded-for", "x-real-ip"])
async def test_who_comes_through_a_proxy_gives_the_password(header: str) -> None:
    """A proxy on this machine had the page answered to everybody, as its connections come from this machine."""
    given = {header: "192.0.2.7"}
    assert await ask(**given) == HTTPStatus.FORBIDDEN
    assert await ask("secret", **given, authorization=login("me:secret")) == HTTPStatus.OK
