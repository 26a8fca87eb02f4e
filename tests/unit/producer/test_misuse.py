"""What an application does wrong, or its code, ends with an error for it, and never for the records of others."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from stepdown.producer import (
    Producer,
    ProducerClosed,
    ProducerError,
    ProducerRecord,
    RecordMetadata,
    Timeout,
    WrongState,
)
from stepdown.producer.partitioners.partitioner import TopicView
from stepdown.producer.sender.sender import Sender
from support.certificates import Authority
from support.producing import producing

WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no topic": ({"topic": ""}, ValueError, "cannot be a topic"),
    "a lone surrogate": ({"topic": "\ud800"}, ValueError, "cannot be a topic"),
    "a long topic": ({"topic": "t" * 40_000}, ValueError, "cannot be a topic"),
    "a topic of bytes": ({"topic": b"t"}, TypeError, "a topic is a str, found bytes"),
    "a partition of a float": ({"partition": 1.0}, TypeError, "a partition is an int, found float"),
    "a negative partition": ({"partition": -1}, ValueError, "negative"),
    "a large partition": ({"partition": 1 << 31}, ValueError, "31 bits"),
    "a callback that is none": ({"callback": 5}, TypeError, "a callback is called with metadata and error, found int"),
    "a timestamp in seconds": ({"timestamp": 1_790_000_000.5}, TypeError, "a timestamp is an int, found float"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_argument_is_told_at_once_and_the_producer_goes_on(name: str) -> None:
    arguments, error, text = WRONG[name]
    async with producing() as stage:
        with pytest.raises(error, match=text):
            stage.producer.send(**{"topic": "t", "value": b"v"} | arguments)
        stage.producer.send("t", b"v")
        await stage.advance()
        with pytest.raises(error, match=text):  # on the short way too
            stage.producer.send(**{"topic": "t", "value": b"v"} | arguments)
        after = stage.producer.send("t", b"v")
        while not after.done():
            for asked in await stage.produced():
                asked.answer()
        assert (await after).offset == 1


class Muddled:
    """An interceptor that hands no record on."""

    def on_send(self, record: ProducerRecord) -> Any:
        return None

    def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None:
        """Content."""


async def test_an_interceptor_that_gives_no_record_is_told_and_the_record_goes_as_it_was() -> None:
    heard: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: heard.append(repr(context["exception"])))
    async with producing(interceptors=[Muddled()]) as stage:
        delivery = stage.producer.send("t", b"v", headers=None)
        [asked] = await stage.produced()
        asked.answer()
        assert (await delivery).offset == 0
    assert heard == ["TypeError('on_send gave NoneType, not a ProducerRecord')"]


class Floating:
    """A partitioner that returns what is no partition."""

    def partition(self, topic: TopicView, key: bytes | None, value: bytes | None) -> Any:
        return 1.0 if value == b"wrong" else 0

    def on_new_batch(self, topic: TopicView, partition: int) -> None:
        pass


async def test_a_partitioner_that_returns_no_int_fails_its_record_alone() -> None:
    async with producing(**{"partitioner.class": Floating()}) as stage:
        wrong, right = stage.producer.send("t", b"wrong"), stage.producer.send("t", b"right")
        [asked] = await stage.produced()
        asked.answer()
        with pytest.raises(Exception, match="for t, not an int"):
            await wrong
        assert (await right).offset == 0


async def test_a_pass_that_fails_is_logged_and_another_follows(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with producing() as stage:
        once = Sender.run_once

        def fails(self: Sender, now_ms: int) -> int:
            monkeypatch.setattr(Sender, "run_once", once)
            raise RuntimeError("a fault of ours")

        monkeypatch.setattr(Sender, "run_once", fails)
        delivery = stage.producer.send("t", b"v")
        assert await stage.produced() == []
        assert "a fault of ours" in caplog.text
        [asked] = await stage.produced(200)
        asked.answer()
        assert (await delivery).offset == 0


async def test_it_starts_once() -> None:
    async with producing() as stage:
        with pytest.raises(WrongState, match="started once"):
            await stage.producer.start()
    with pytest.raises(WrongState, match="started once"):
        await stage.producer.start()


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What a broker does with a request that is none."""
    await reader.read(1)
    writer.close()


@asynccontextmanager
async def unreachable(why: str, folder: Path, patch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """An address where no producer of plain text, or of TLS, gets an answer."""
    if why == "nobody listens":
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        yield f"127.0.0.1:{port}"
    elif why == "nobody answers":
        with socket.create_server(("127.0.0.1", 0)) as silent:
            yield f"127.0.0.1:{silent.getsockname()[1]}"
    elif why == "no name of a host":
        yield "a..b:9092"
    elif why == "no such host":

        def unknown(*_: object, **__: object) -> None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        patch.setattr(socket, "getaddrinfo", unknown)
        yield "no-such-host.test:9092"
    else:
        context = None
        if why == "TLS there":
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(Authority(folder).issue("broker"))
        async with await asyncio.start_server(hang_up, "127.0.0.1", 0, ssl=context) as server:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(
    ("why", "settings", "reason"),
    [
        ("nobody listens", {}, "Connection refused"),
        ("nobody answers", {"request_timeout_ms": 50}, "no answer to the first request within 50 ms"),
        ("no such host", {}, "Name or service not known"),
        ("no name of a host", {}, "codec failed"),
        ("TLS there", {}, "in plain text: is it a TLS or SASL listener?"),
        ("plain text there", {"security_protocol": "SSL"}, "TLS handshake: is it a listener with TLS?"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_why_no_broker_is_reached_is_logged_and_told(
    why: str,
    settings: Any,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Where nobody listened it was `[Errno 111] Connect call failed`."""
    async with (
        unreachable(why, tmp_path, monkeypatch) as address,
        Producer(address, max_block_ms=300, **settings) as producer,
    ):
        with pytest.raises(Timeout, match="no broker answered") as caught:
            await producer.send("t", b"v")
        assert address in str(caught.value) and reason in str(caught.value)
        assert f"no broker answers at {address}, trying" in caplog.text and reason in caplog.text
        assert "no broker answers so far, which is tried again" in caplog.text


async def test_who_closes_while_it_connects_is_told_of_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        producer = Producer(f"127.0.0.1:{server.getsockname()[1]}")
        await producer.start()
        delivery = producer.send("t", b"v")
        await asyncio.sleep(0)
        await producer.close(0)
        with pytest.raises(ProducerClosed):
            await delivery
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
    assert "connecting" not in caplog.text


async def test_a_timeout_is_one_for_those_who_know_no_others() -> None:
    assert issubclass(Timeout, TimeoutError)
    assert (str(Timeout("too late")), Timeout("too late").code.name) == ("too late", "REQUEST_TIMED_OUT")


async def test_what_is_sent_again_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with producing() as stage:
        delivery = stage.producer.send("t", b"v")
        [asked] = await stage.produced()
        asked.drop()
        assert "1 record(s) for t-0 are sent again" in caplog.text and "NETWORK_EXCEPTION" in caplog.text
        [again] = await stage.produced(1000)
        again.answer()
        assert (await delivery).offset == 0


def test_idempotence_switched_off_by_acks_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="stepdown.producer"):
        Producer("127.0.0.1:9092", acks=1)
    assert "idempotence is off, because of acks" in caplog.text
