"""The clients of a gateway as Chromium shows them. `STEPDOWN_SCREENSHOTS=DIR` keeps what it saw."""

import os
from pathlib import Path

import pytest
from support.browser import CHROMIUM, chromium
from support.fetching import fetch
from support.gateway import running_gateway

pytestmark = pytest.mark.browser
WIDTH = 1300
BECAUSE = "document.querySelector('td[data-label=Because]').getBoundingClientRect()"
FITS = "[...document.querySelectorAll('.scroll')].every((each) => each.scrollWidth <= each.clientWidth)"
SHOWN = "document.querySelector('td.changes').innerText"


async def test_why_a_client_needs_the_gateway_has_room(tmp_path: Path) -> None:
    """The reasons stood in twenty lines of 90 pixels, beside a column of conversions that a gateway never has."""
    if CHROMIUM is None:
        pytest.skip("no chromium: apt-get install chromium")
    async with running_gateway(tmp_path / "data") as stage, await stage.connect() as client:
        await client.send(fetch("none"), 1)
        async with chromium(tmp_path / "profile") as tab:
            await tab.resize(WIDTH, "light")
            await tab.show(f"http://{stage.gateway.http_address}/#/clients", "Fetch 1 → 4, 1 time")
            if "STEPDOWN_SCREENSHOTS" in os.environ:
                await tab.picture(Path(os.environ["STEPDOWN_SCREENSHOTS"]) / f"gateway-clients-{WIDTH}.png")
            assert await tab.evaluate(FITS)
            shown = await tab.evaluate(SHOWN)
            width, height = await tab.evaluate(f"[{BECAUSE}.width, {BECAUSE}.height]")
            assert await tab.find_barriers() == []
            await tab.show(
                f"http://{stage.gateway.http_address}/", "1 of 1 do not work with Kafka 4 without this gateway"
            )
    assert "Translated" in shown and "Converted" not in shown
    assert width > height
