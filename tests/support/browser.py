"""Chromium without a screen, driven over its debugging pipe (the DevTools protocol; messages end with a NUL)."""

import asyncio
import base64
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from .deadline import DEADLINE_S

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
LAUNCH = 'exec "$@" 3<&{} 4>&{}'
"""The browser reads from descriptor 3 and writes to 4."""
FREE_DESCRIPTOR = 100
MOST_MESSAGE_BYTES = 256 << 20
KEYS = {"Tab": ("Tab", 9, ""), "Enter": ("Enter", 13, "\r")}

AXE = Path(__file__).parent / "axe" / "axe.min.js"
AXE_SHA256 = "880970c081707360e64f34cea25ff91892f5bc95675b0776925b9709dd8a68bb"
"""Of axe-core 4.10.3 as npm has it (MPL 2.0, its LICENSE lies beside it); it is for tests and is not installed."""


class Tab:
    """A page of the browser. `told` has what its console said, and errors."""

    def __init__(self, commands: Any, answers: asyncio.StreamReader) -> None:
        self.told: list[str] = []
        self._commands, self._answers = commands, answers
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._session: dict[str, str] = {}
        self._count = 0
        self._reading = asyncio.create_task(self._read())

    async def open(self) -> None:
        target = await self._ask("Target.createTarget", url="about:blank")
        found = await self._ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = {"sessionId": found["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            await self._ask(f"{domain}.enable")

    async def close(self) -> None:
        self._session = {}
        await self._ask("Browser.close")
        await self._reading

    async def resize(self, width: int, scheme: str) -> None:
        """A window of that width, in `light` or `dark` colours."""
        await self._ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        await self._ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def show(self, url: str, text: str) -> None:
        """Goes there anew, and waits until `main` has the text."""
        await self._ask("Page.navigate", url="about:blank")
        await self._ask("Page.navigate", url=url)
        await self.until(f"document.querySelector('main')?.innerText.includes({json.dumps(text)})")

    async def until(self, condition: str) -> None:
        """Waits until a condition holds."""
        async with asyncio.timeout(DEADLINE_S):
            while not await self.evaluate(f"!!({condition})"):  # noqa: ASYNC110  (the browser tells nobody)
                await asyncio.sleep(0)

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression, awaited."""
        found = await self._ask(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def press(self, key: str) -> None:
        code, number, text = KEYS.get(key, ("", ord(key[0].upper()), key))
        event = {"key": key, "code": code, "windowsVirtualKeyCode": number, "text": text}
        await self._ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **event)
        await self._ask("Input.dispatchKeyEvent", type="keyUp", **event)

    async def picture(self, path: Path, most_height: int | None = None) -> None:
        """The page as a PNG: all of it, or its top."""
        size = await self.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], most_height or size[1]), "scale": 1}
        found = await self._ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        await asyncio.to_thread(path.write_bytes, base64.b64decode(found["data"]))

    async def find_barriers(self) -> list[str]:
        """What axe finds that keeps people out, with the element."""
        source = AXE.read_bytes()
        assert hashlib.sha256(source).hexdigest() == AXE_SHA256
        await self.evaluate(source.decode() + ";0")
        found = await self.evaluate("axe.run().then((found) => found.violations)")
        return [f"{each['id']}: {node['html']}: {node['failureSummary']}" for each in found for node in each["nodes"]]

    async def _ask(self, method: str, **parameters: Any) -> Any:
        self._count += 1
        answer = self._waiting[self._count] = asyncio.get_running_loop().create_future()
        message = {"id": self._count, "method": method, "params": parameters, **self._session}
        await asyncio.to_thread(self._commands.write, json.dumps(message).encode() + b"\0")
        async with asyncio.timeout(DEADLINE_S):
            return await answer

    async def _read(self) -> None:
        while True:
            try:
                message = json.loads((await self._answers.readuntil(b"\0"))[:-1])
            except asyncio.IncompleteReadError:
                break
            self._take(message)
        for each in self._waiting.values():
            if not each.done():
                each.set_result({})

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            answer = self._waiting.pop(message["id"])
            if answer.done():  # given up
                return
            if "error" in message:
                answer.set_exception(AssertionError(message["error"]))
            else:
                answer.set_result(message["result"])
        elif message["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.told.append(json.dumps(message["params"]))


@asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Tab]:
    """A tab of a browser of its own, whose profile is in the folder."""
    ends = [*os.pipe(), *os.pipe()]
    theirs_in, ours_out, ours_in, theirs_out = ends
    high = [fcntl.fcntl(each, fcntl.F_DUPFD, FREE_DESCRIPTOR) for each in (theirs_in, theirs_out)]
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", LAUNCH.format(*high), "bash", CHROMIUM or "", *OPTIONS, f"--user-data-dir={folder}"),
        pass_fds=high,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    for each in (theirs_in, theirs_out, *high):
        os.close(each)
    answers = asyncio.StreamReader(limit=MOST_MESSAGE_BYTES)
    loop = asyncio.get_running_loop()
    with os.fdopen(ours_out, "wb", buffering=0) as commands, os.fdopen(ours_in, "rb", buffering=0) as given:
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(answers), given)
        tab = Tab(commands, answers)
        try:
            await tab.open()
            yield tab
            await tab.close()
        finally:
            if process.returncode is None:
                async with asyncio.timeout(DEADLINE_S):
                    await _end(process)
            transport.close()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Also where a test failed before the browser was closed."""
    process.terminate()
    await process.wait()
