"""Decides who may see the page and /clients: with a password set, clients that send it; otherwise those on this
machine.

Requests from web pages of other origins are refused. Without a password, so are host names that are no loopback names
(DNS rebinding).
"""

import base64
import binascii
import hmac
from collections.abc import Mapping
from http import HTTPStatus

from ..admission.password_delays import PasswordDelays
from ..http.local_access import find_reason_to_refuse_host, is_local
from ..http.server import Page, PageRequest

ASK_FOR_LOGIN = (("www-authenticate", 'Basic realm="stepdown", charset="UTF-8"'),)


class PageAccess:
    """`password` "": loopback addresses only, without a login."""

    def __init__(self, password: str, delays: PasswordDelays) -> None:
        self._password = password.encode()
        self._delays = delays

    async def find_refusal(self, request: PageRequest) -> Page | None:
        """The answer to a client that may not see the page, delayed if its password is wrong; None if it may."""
        given = {bytes(name).lower(): bytes(value).decode("latin-1") for name, value in request.headers}
        if not _is_own_origin(given) or _is_sent_by_other_site(given):
            return _forbidden_page("pages of other origins are not answered")
        if self._password:
            authorization = given.get(b"authorization", "")
            is_let_in = authorization and await self._delays.check_with_delay(
                request.peer, lambda: self._is_password(authorization)
            )
            return None if is_let_in else _ask_for_password_page()
        if not is_local(request.peer):
            return _forbidden_page(
                "the page is for loopback addresses; set stepdown.page.password, or forward the port: "
                "ssh -L 9464:127.0.0.1:9464 HOST"
            )
        reason = find_reason_to_refuse_host(given)
        return None if reason is None else _forbidden_page(reason)

    def _is_password(self, authorization: str) -> bool:
        scheme, _, encoded = authorization.partition(" ")
        try:
            given = base64.b64decode(encoded, validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            given = b""
        return scheme.lower() == "basic" and hmac.compare_digest(given, self._password)


def _is_own_origin(headers: Mapping[bytes, str]) -> bool:
    """Whether the request has no Origin, or an Origin with the same host as its Host header."""
    origin = headers.get(b"origin")
    return origin is None or origin.partition("://")[2] == headers.get(b"host")


def _is_sent_by_other_site(headers: Mapping[bytes, str]) -> bool:
    """Whether a page of another site sent this request; a followed link does not count."""
    site = headers.get(b"sec-fetch-site", "none")
    return site not in ("none", "same-origin") and headers.get(b"sec-fetch-mode") != "navigate"


def _forbidden_page(reason: str) -> Page:
    return Page(body=f"{reason}\n".encode(), status=HTTPStatus.FORBIDDEN)


def _ask_for_password_page() -> Page:
    return Page(
        body=b"give the password of stepdown.page.password\n", status=HTTPStatus.UNAUTHORIZED, headers=ASK_FOR_LOGIN
    )
