"""Chromium shows every view without an error, without scrolling aside, and nothing that a record holds is run.

`STEPDOWN_SCREENSHOTS=DIR` keeps what it saw.
"""

import asyncio
import html
import os
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from support.admin import create
from support.client import RawClient
from support.deadline import DEADLINE_S
from support.page_content import MARKUP, commit, write_values
from support.running import running_broker

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
VIEWS = {
    "overview": "OffsetCommit",
    "topics": "orders",
    "topics/orders": "partition 2",
    "records/orders/0": "<img src=x onerror=alert(1)>\\u001b[31m\\u000d",
    "groups": "<b>billing",
    "groups/%3Cb%3Ebilling": "orders",
    "transactions": "tx-1",
    "requests": "since the tape began",
    "clients": "<img src=x onerror=alert(1)>\\u001b[31m",
}
"""By their address what each has to show, as it is seen."""
SETTINGS = {"offsets_topic_num_partitions": 1, "transaction_state_log_num_partitions": 1}
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr"),
    "--virtual-time-budget=4000",
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the browser made of a view, and what it said in its console."""

    document: str
    console: list[str]

    @property
    def text(self) -> str:
        """The text of `main`."""
        main = re.sub(r"<[^>]*>", " ", self.document.partition("<main")[2].partition("</main>")[0])
        return html.unescape(main)


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[str]:
    if CHROMIUM is None:
        pytest.skip("no chromium: apt-get install chromium")
    async with (
        running_broker(tmp_path / "data", **SETTINGS) as broker,
        await RawClient.connect(broker.address.host, broker.address.port, client_id=MARKUP) as client,
    ):
        await create(client, "orders", 3)
        await write_values(client)
        await commit(client, "<b>billing", 1)
        await client.send(InitProducerIdRequest(transactional_id="tx-1", transaction_timeout_ms=10_000), 0)
        yield f"http://{broker.http_address}/"


async def look(url: str, folder: Path, *options: str) -> Seen:
    process = await asyncio.create_subprocess_exec(
        *(CHROMIUM or "", *OPTIONS, f"--user-data-dir={folder}/profile", *options, url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(DEADLINE_S):
        out, err = await process.communicate()
    console = [line for line in err.decode(errors="replace").splitlines() if "CONSOLE" in line]
    return Seen(out.decode(errors="replace"), console)


@pytest.mark.browser
@pytest.mark.parametrize("view", VIEWS)
async def test_a_view_is_shown_without_an_error(view: str, page: str, tmp_path: Path) -> None:
    seen = await look(f"{page}#/{view}", tmp_path, "--dump-dom")
    assert seen.console == []
    assert VIEWS[view] in seen.text, seen.text
    assert not re.search(r"<img[^>]*onerror|<b>billing", seen.document), "a value became markup"
    assert 'class="error"' not in seen.document


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (500, "dark")])
async def test_pictures_of_the_views_are_made(width: int, scheme: str, page: str, tmp_path: Path) -> None:
    """500 is the least width of a window without a screen."""
    folder = Path(os.environ.get("STEPDOWN_SCREENSHOTS", tmp_path))
    dark = ("--blink-settings=preferredColorScheme=0",) if scheme == "dark" else ()
    for view in VIEWS if "STEPDOWN_SCREENSHOTS" in os.environ else ("overview",):
        picture = folder / f"{view.replace('/', '-').replace('%', '')}-{width}.png"
        size = f"--window-size={width},1000"
        seen = await look(f"{page}#/{view}", tmp_path, size, f"--screenshot={picture}", *dark)
        assert seen.console == []
        assert picture.stat().st_size > 10_000
