"""Logs in on a raw connection, step by step, so that a test may do any of them wrong."""

import struct
from typing import Any

from stepdown.client.security.scram_client import ScramClient
from stepdown.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from stepdown.protocol.messages.sasl_handshake import SaslHandshakeRequest

from .client import RawClient
from .secure import PASSWORD, USER


def plain_token(user: str = USER, password: str = PASSWORD, wanted: str = "") -> bytes:
    return f"{wanted}\0{user}\0{password}".encode()


async def handshake(client: RawClient, mechanism: str, version: int = 1) -> Any:
    return await client.send(SaslHandshakeRequest(mechanism=mechanism), version)


async def authenticate(client: RawClient, token: bytes, version: int = 2) -> Any:
    return await client.send(SaslAuthenticateRequest(auth_bytes=token), version)


async def log_in(client: RawClient, mechanism: str = "PLAIN", user: str = USER, password: str = PASSWORD) -> Any:
    """The answer to the last token."""
    assert (await handshake(client, mechanism)).error_code == 0
    if mechanism == "PLAIN":
        return await authenticate(client, plain_token(user, password))
    scram = ScramClient(mechanism, user, password)
    first = await authenticate(client, scram.first_message())
    if first.error_code:
        return first
    final = await authenticate(client, scram.final_message(bytes(first.auth_bytes)))
    if not final.error_code:
        scram.verify_server(bytes(final.auth_bytes))
    return final


async def bare(client: RawClient, token: bytes) -> bytes | None:
    """The answer to a token without a request around it; None when the broker hangs up."""
    await client.send_raw(struct.pack(">i", len(token)) + token)
    return await client.read_frame()
