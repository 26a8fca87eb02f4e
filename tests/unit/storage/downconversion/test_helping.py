"""Who helps to convert, when, and for whom."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from stepdown.protocol.errors import PeerFault
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.conversion.compressed_batch import convert_singles, singles_of_thread
from stepdown.protocol.records.layout import RECORD_COUNT_OFFSET, Codec
from stepdown.protocol.records.record import Record
from stepdown.storage.downconversion.helping import HELP, THREAD_NAME, convert_with_help, processors
from support.mutations import mended

ROOM = 400_000


@pytest.fixture(autouse=True)
def a_processor_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HELP, "most_converting", 1)


def batches(seed: int, count: int) -> bytes:
    letters = Random(seed)
    values = [bytes(letters.choices(b"abcdefghij", k=1000)) for _ in range(16 * count)]
    return b"".join(
        build_batch(
            [Record(offset=n, timestamp=5, key=None, value=values[n]) for n in range(at, at + 16)], codec=Codec.GZIP
        )
        for at in range(0, len(values), 16)
    )


def alone(source: bytes) -> tuple[tuple[int, ...], bytes]:
    out = bytearray(ROOM)
    return tuple(convert_singles(memoryview(source), 0, 1, out, 0)), bytes(out)


def helped(source: bytes) -> tuple[tuple[int, ...], bytes]:
    out = bytearray(ROOM)
    return tuple(convert_with_help(singles_of_thread(), memoryview(source), 1, out)), bytes(out)


def helper() -> threading.Thread | None:
    """The thread that was begun last."""
    return next((thread for thread in reversed(threading.enumerate()) if thread.name == THREAD_NAME), None)


def test_the_helper_does_a_part() -> None:
    source = batches(0, 12)
    usual = alone(source)
    assert helped(source) == usual
    thread = helper()
    assert thread is not None and thread.ident is not None
    clock = time.pthread_getcpuclockid(thread.ident)
    before = time.clock_gettime(clock)
    while time.clock_gettime(clock) < before + 0.001:  # it takes what is left of the processors
        assert helped(source) == usual


def test_several_threads_have_one_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HELP, "most_converting", 8)
    sources = [batches(seed, 12) for seed in range(6)]
    expected = [alone(source) for source in sources]
    assert helped(sources[0]) == expected[0]
    threads_before = threading.active_count()
    with ThreadPoolExecutor(6) as threads:
        for _ in range(20):
            assert list(threads.map(helped, sources)) == expected
    assert threading.active_count() == threads_before
    assert (HELP.is_busy, HELP.converting) == (False, 0)


def test_nobody_asks_for_help_while_all_processors_convert(monkeypatch: pytest.MonkeyPatch) -> None:
    source = batches(0, 12)
    begun: list[str] = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (begun.append(thread.name), start(thread)))
    usual = alone(source)
    for most_converting, expected in ((0, []), (1, [THREAD_NAME])):
        HELP.forget()
        monkeypatch.setattr(HELP, "most_converting", most_converting)
        assert helped(source) == usual
        assert begun == expected


def test_the_helper_is_free_again_after_damage() -> None:
    miscounted = bytearray(batches(1, 1))
    miscounted[RECORD_COUNT_OFFSET + 3] += 1
    source = batches(0, 6) + mended(bytes(miscounted)) + batches(0, 6)
    for _ in range(10):
        with pytest.raises(PeerFault) as found:
            helped(source)
        with pytest.raises(PeerFault) as usual:
            alone(source)
        assert str(found.value) == str(usual.value)
        assert (HELP.is_busy, HELP.converting) == (False, 0)
    assert helped(batches(0, 12)) == alone(batches(0, 12))


def test_nobody_else_gets_a_helper_that_is_about_to_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    source, start, meanwhile = batches(0, 12), threading.Thread.start, []

    def convert() -> None:
        alone(source)  # with its first gzip a thread has no help
        meanwhile.append(helped(source))

    def start_late(thread: threading.Thread) -> None:
        if thread.name == THREAD_NAME:
            other = threading.Thread(target=convert, daemon=True)
            start(other)
            other.join(20)
            assert not other.is_alive()
        start(thread)

    HELP.forget()
    monkeypatch.setattr(HELP, "most_converting", 8)
    monkeypatch.setattr(threading.Thread, "start", start_late)
    usual = alone(source)
    assert (helped(source), meanwhile) == (usual, [usual])
    assert (HELP.is_busy, HELP.converting) == (False, 0)


def test_without_another_thread_it_goes_without_help(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    HELP.forget()
    monkeypatch.setattr(threading.Thread, "start", start)
    source = batches(0, 12)
    assert helped(source) == alone(source)
    assert (HELP.is_busy, HELP.converting, HELP.most_converting) == (False, 0, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork there is no child without its parent's threads")
def test_a_child_has_a_helper_of_its_own() -> None:
    source = batches(0, 12)
    usual = helped(source)
    child = os.fork()
    if not child:
        status = 1
        try:
            status = 0 if [helped(source) for _ in range(5)] == [usual] * 5 and helper() is not None else 1
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_processors_are_those_of_this_process() -> None:
    assert 1 <= processors() <= (os.cpu_count() or 1)
