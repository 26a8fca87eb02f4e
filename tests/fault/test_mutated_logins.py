"""Mutated TLS and SASL: whatever a stranger sends, the broker goes on, answers others, and lets nobody in.

Each input is a real conversation with bytes changed, cut, repeated or put in. `make mutated-logins` sends a million.
"""

import asyncio
import base64
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.client.security.scram_client import ScramClient
from stepdown.network.sasl.login_credential import LoginCredential
from stepdown.network.sasl.mechanism import Refused
from stepdown.network.sasl.plain import Plain
from stepdown.network.sasl.scram import Scram
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.scram import credential_of, salt_password
from support.certificates import Authority
from support.client import RawClient
from support.deadline import DEADLINE_S
from support.hostile.mutated_logins import client_hellos, conversations, mutated
from support.sasl_client import log_in
from support.secure import PASSWORD, SALT, USER, secure_broker, secure_settings

ALL_TOPICS = MetadataRequest(topics=None)
AT_ONCE = 50
CREDENTIAL = credential_of("SCRAM-SHA-256", SALT, salt_password("SCRAM-SHA-256", PASSWORD, SALT, 4096), 4096)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with secure_broker(tmp_path / "data", secure_settings(Authority(tmp_path))) as broker:
        yield broker


async def send_all(broker: Broker, listener: str, samples: list[bytes], count: int, seed: int) -> None:
    """Sends mutations, and looks now and then whether an honest client is answered at once."""
    dice = random.Random(seed)
    port = broker.addresses[listener].port

    async def one(data: bytes) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with suppress(ConnectionError):
            writer.write(data)
            writer.write_eof()
            await reader.read()
        writer.close()

    for at in range(0, count, AT_ONCE):
        await asyncio.gather(*(one(mutated(dice.choice(samples), dice)) for _ in range(AT_ONCE)))
        if at % (AT_ONCE * 20) == 0:
            async with asyncio.timeout(DEADLINE_S), await RawClient.connect("127.0.0.1", broker.address.port) as honest:
                assert (await honest.send(ALL_TOPICS, 9)).brokers


async def check_mutations(broker: Broker, caplog: pytest.LogCaptureFixture, count: int, seed: int) -> None:
    caplog.set_level("ERROR")
    let_in: list[object] = []
    before = [admission._cancel_timer_and_unrestrict for admission in broker._admissions.values()]
    for admission in broker._admissions.values():
        admission._cancel_timer_and_unrestrict = lambda connection, timer: let_in.append(connection)  # type: ignore[method-assign]
    await send_all(broker, "SASL_PLAINTEXT", conversations(), count // 2, seed)
    await send_all(broker, "SASL_SSL", client_hellos(), count // 2, seed + 1)
    for admission, authenticated in zip(broker._admissions.values(), before, strict=True):
        admission._cancel_timer_and_unrestrict = authenticated  # type: ignore[method-assign]
    assert let_in == []
    assert caplog.text == ""


async def test_mutated_logins_let_nobody_in(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    await check_mutations(broker, caplog, 1_000, seed=1)
    async with await RawClient.connect("127.0.0.1", broker.addresses["SASL_PLAINTEXT"].port) as client:
        assert (await log_in(client)).error_code == 0


def same(one: bytes, other: bytes) -> bool:
    """Whether two last messages say the same: base64 has several ways to write the last byte."""
    head, _, proof = one.rpartition(b",p=")
    other_head, _, other_proof = other.rpartition(b",p=")
    try:
        return head == other_head and base64.b64decode(proof) == base64.b64decode(other_proof)
    except ValueError:
        return False


def check_messages(count: int, seed: int) -> None:
    """The messages of the mechanisms, from right ones to whatever mutations make of them."""
    dice = random.Random(seed)
    right = ScramClient("SCRAM-SHA-256", USER, PASSWORD, "nonce")
    final = right.final_message(
        Scram("SCRAM-SHA-256", lambda user: LoginCredential(CREDENTIAL), "server").step(right.first_message())
    )
    for _ in range(count):
        with suppress(Refused):
            plain = Plain({USER: PASSWORD})
            token = mutated(f"\0{USER}\0{PASSWORD}".encode(), dice)
            plain.step(token)
            assert token.split(b"\0")[1:] == [USER.encode(), PASSWORD.encode()]
        server = Scram("SCRAM-SHA-256", lambda user: LoginCredential(CREDENTIAL, is_decoy=user != USER), "server")
        with suppress(Refused):
            server.step(mutated(right.first_message(), dice))
        server = Scram("SCRAM-SHA-256", lambda user: LoginCredential(CREDENTIAL), "server")
        server.step(right.first_message())
        changed = mutated(final, dice)
        if not same(changed, final):
            with pytest.raises(Refused):
                server.step(changed)
            assert server.user is None


def test_mutated_messages_are_refused_and_nothing_else() -> None:
    check_messages(2_000, seed=3)


@pytest.mark.slow
def test_nine_hundred_thousand_mutated_messages_are_refused() -> None:
    check_messages(300_000, seed=4)
