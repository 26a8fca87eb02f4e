"""Commands against a broker in the test's own loop. They block, so each runs in a thread."""

import asyncio
from collections.abc import Awaitable, Callable

from stepdown.broker.broker import Broker
from support.command import Finished, run_command

Stepdown = Callable[..., Awaitable[Finished]]


def commands_for(broker: Broker) -> Stepdown:
    """`run("topics", "create", "t")` is `stepdown topics create t` for that broker; `stdin` is what it may read."""

    async def run(*arguments: object, stdin: bytes = b"") -> Finished:
        return await asyncio.to_thread(run_command, *arguments, "-b", str(broker.address), stdin=stdin)

    return run
