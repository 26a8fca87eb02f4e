"""Kafka's own classes as an oracle: one JVM that stays up and answers commands over its stdin and stdout.

Add a command: write a public static method `byte[] name(byte[] payload) throws Exception` in a class of Java package
`oracle`, in `tests/support/java/oracle/<room>/`; then, in a test,

    def test_x(java_oracle):
        oracle = java_oracle("records")            # compiles the room, starts its JVM, once per test session
        answer = oracle.call("Records.downConvert", payload)

Each room compiles by itself (with `oracle/base`, which has the loop and the `Bytes` reader and writer), so half-written
commands of one room do not stop another. A class that has to see package-private members of Kafka may lie in Kafka's
package, beside the class in `oracle` that calls it. Outside a fixture: `oracle = java_oracle_for("records")`.

Frames, big-endian:
    request:  int32 length of the rest | int16 name length | name, UTF-8 | payload
    answer:   int32 length of the rest | int8 0 = value, 1 = exception | payload
An exception's payload is `class name \\0 message \\0 stack trace`; it is raised here as JavaError.
What Java prints goes to the test's stderr.
"""

import atexit
import functools
import struct
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from stepdown.bench.servers.kafka import KAFKA_3_9

from .deadline import DEADLINE_S
from .java_build import compile_java, java
from .maven import class_path

MAIN = "oracle.Oracle"


class JavaError(Exception):
    """An exception that Java threw: `class_name` (`org.apache…InvalidRecordException`), `message`, `stack`."""

    def __init__(self, class_name: str, message: str, stack: str) -> None:
        super().__init__(f"{class_name}: {message}\n{stack}")
        self.class_name = class_name
        self.message = message
        self.stack = stack

    @property
    def simple_name(self) -> str:
        """The class name without its package."""
        return self.class_name.rpartition(".")[2]


class JavaOracle:
    """A JVM that answers commands until it is closed. One call at a time; threads wait for each other."""

    def __init__(self, class_path: Sequence[Path], main: str = MAIN, *, heap: str = "256m") -> None:
        self._lock = threading.Lock()
        self._command = java(class_path, main, heap=heap)
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, command: str, payload: bytes = b"", *, timeout_s: float = DEADLINE_S) -> bytes:
        """Return the answer to `Class.method` with this payload.

        Raises:
            JavaError: the command threw.
            RuntimeError: the JVM has ended, or did not answer in time and was killed; the next call has a new one.
        """
        name = command.encode()
        frame = struct.pack(">ih", 2 + len(name) + len(payload), len(name)) + name + payload
        with self._lock:
            watchdog = threading.Timer(timeout_s, self._process.kill)
            watchdog.start()
            try:
                status, answer = self._exchange(frame)
            except (EOFError, BrokenPipeError) as error:
                self._process.kill()
                self._process.communicate()
                code, self._process = self._process.returncode, self._start()
                raise RuntimeError(f"the JVM ended during {command}, exit code {code}") from error
            finally:
                watchdog.cancel()
        if status != 0:
            raise JavaError(*answer.decode().split("\0", 2))
        return answer

    def close(self) -> None:
        """End the JVM: its input ends, so it leaves its loop."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _exchange(self, frame: bytes) -> tuple[int, bytes]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(frame)
        stdin.flush()
        (length,) = struct.unpack(">i", _read(stdout, 4))
        answer = _read(stdout, length)
        return answer[0], answer[1:]


def _read(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


@functools.cache
def java_oracle_for(room: str, *coordinates: str) -> JavaOracle:
    """Return the oracle of `tests/support/java/oracle/<room>` over these jars (Kafka 3.9.1's broker unless given).

    `a+b` compiles the sources of both folders together.
    """
    jars = class_path(*(coordinates or (KAFKA_3_9,)))
    base = compile_java(("oracle/base",), jars)
    folders = tuple(f"oracle/{folder}" for folder in room.split("+"))
    oracle = JavaOracle((compile_java(folders, (base, *jars)), base, *jars))
    atexit.register(oracle.close)
    return oracle
