"""A worker as its supervisor sees it: a process, and two sockets to it."""

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from itertools import count
from typing import Any

from .shared_ports import SharedPorts
from .worker_messages import Message, WorkerMessages

ANSWER_S = 20.0
"""How long a worker that serves clients may take for an answer."""
READY_S = 3.0
"""How long it may take to say whether it is ready."""


class WorkerLost(Exception):
    """The worker has ended, or has no answer."""


class WorkerSilent(WorkerLost):
    """It is there, and has no answer in time."""


class WorkerProcess:
    """Worker `number`; `start` starts it. `is_serving` is set when it serves clients."""

    def __init__(self, number: int, process: asyncio.subprocess.Process, messages: WorkerMessages) -> None:
        self.number = number
        self.is_serving = False
        self._process = process
        self._messages = messages
        self._ids = count(1)
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._reading = asyncio.create_task(self._read_all())

    @classmethod
    async def start(cls, number: int, command: Sequence[str], ports: SharedPorts) -> "WorkerProcess":
        """Runs `command` with `--worker` and its ends of the sockets. Raises: OSError."""
        loop = asyncio.get_running_loop()
        own_ports, its_ports = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        own_end, its_end = socket.socketpair(socket.AF_UNIX)
        with its_ports, its_end:
            process = await asyncio.create_subprocess_exec(
                *command,
                *("--worker", f"{its_ports.fileno()},{its_end.fileno()}"),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(its_ports.fileno(), its_end.fileno()),
            )
        loop.add_reader(own_ports, _answer_port_requests, ports, own_ports)
        return cls(number, process, WorkerMessages(*await asyncio.open_unix_connection(sock=own_end)))

    def __str__(self) -> str:
        return f"worker {self.number} (process {self.pid})"

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ask(self, question: str, *, timeout_s: float | None = ANSWER_S, **content: Any) -> Message:
        """The answer. Raises: WorkerLost."""
        number = next(self._ids)
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            if self._reading.done():
                raise WorkerLost(f"worker {self.number} has ended")
            async with asyncio.timeout(timeout_s):
                await self._messages.send({"id": number, "ask": question, **content})
                message = await answer
            if "error" in message:
                raise WorkerLost(f"worker {self.number}: {message['error']}")
            return message
        except TimeoutError:
            raise WorkerSilent(f"{self} does not answer") from None
        except OSError as fault:
            raise WorkerLost(f"worker {self.number}: {fault}") from None
        finally:
            del self._waiting[number]

    async def wait_for_end(self) -> int:
        """Its status, once it has ended."""
        status = await self._process.wait()
        await self._reading
        return status

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def _read_all(self) -> None:
        while (message := await self._messages.receive()) is not None:
            answer = self._waiting.get(message.pop("id", 0))
            if answer is not None and not answer.done():
                answer.set_result(message)
        self._messages.close()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(WorkerLost(f"worker {self.number} has ended"))


def _answer_port_requests(ports: SharedPorts, channel: socket.socket) -> None:
    try:
        ports.answer_worker(channel)
    except OSError:
        asyncio.get_running_loop().remove_reader(channel)
        channel.close()
