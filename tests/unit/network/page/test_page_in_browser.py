"""Chromium shows every view, wide and narrow, light and dark, without an error or a barrier, and runs no value.

`STEPDOWN_SCREENSHOTS=DIR` keeps what it saw.
"""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker_with_control_port import ControlledBroker
from stepdown.config import load
from stepdown.network.clients.losses import ZSTD
from stepdown.network.loop_watch import LoopHold
from stepdown.network.principal import KafkaPrincipal
from stepdown.protocol.api import ApiKey
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from support.admin import create, write
from support.browser import CHROMIUM, Tab, chromium
from support.client import RawClient
from support.fetching import fetch
from support.http_page import post_json
from support.page_content import MARKUP, commit, write_values
from support.record_sets import NOW, record_set
from support.running import running_broker

pytestmark = pytest.mark.browser
SHOWN = "<img src=x onerror=alert(1)>\\u001b[31m"
VIEWS = {
    "overview": "OffsetCommit",
    "topics": "orders",
    "topics/orders": "partition 2",
    "records/orders/0": f"{SHOWN}\\u000d",
    "groups": "<b>billing",
    "groups/%3Cb%3Ebilling": "orders",
    "transactions": "tx-1",
    "clients": SHOWN,
    "requests": "o request since",
    "faults": "REQUEST_TIMED_OUT",
}
"""By their address what each has to show, as it is seen."""
SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "stepdown.page.produce": "true",
}
NARROW, WIDE = 390, 1280
LONGEST_NAME = 249
MANY = 300
BROKEN_WORDS = """
[...document.querySelectorAll('td div')].filter((each) => {
  const words = document.createRange();
  const text = each.firstChild;
  return /^\\S+$/.test(each.innerText) && (words.selectNodeContents(text), words.getClientRects().length > 1);
}).map((each) => each.innerText)
"""
"""Lines of cells that are one word, and are broken."""
HANG = """
asked = [];
AbortSignal.timeout = (after_ms) => {
  const clock = new AbortController();
  asked.push({ after_ms, clock });
  return clock.signal;
};
window.fetch = (path, { signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
0
"""
"""Nothing is answered, and the time for an answer is over when a test says so."""
SIX_ROUNDS = """
wait = window.setTimeout, asked = answered = 0;
window.setTimeout = (act) => asked > 5 ? 0 : wait(act, 0);
answer = ask, ask = (...given) => (asked += 1, answer(...given).finally(() => { answered += 1; }));
route();
0
"""
"""Draws the view again without a pause, until it has asked for six answers."""
NULLS = "[...document.querySelectorAll('.record dd i')].map((each) => each.innerText)"
FITS = "[...document.querySelectorAll('.scroll')].every((each) => each.scrollWidth <= each.clientWidth)"


def find_button(title: str) -> str:
    return f"[...document.querySelectorAll('button')].find((each) => each.innerText === '{title}')"


def press_button(title: str) -> str:
    return f"{find_button(title)}.click()"


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[ControlledBroker]:
    if CHROMIUM is None:
        pytest.skip("no chromium: apt-get install chromium")
    overrides = [f"{name}={value}" for name, value in SETTINGS.items()]
    loaded = load(overrides=[*overrides, f"log.dirs={tmp_path / 'data'}"])
    controlled = ControlledBroker(loaded.settings, loaded.layers)
    await controlled.start()
    yield controlled
    await controlled.stop()


@pytest.fixture
async def client(broker: ControlledBroker) -> AsyncIterator[RawClient]:
    async with await RawClient.connect(broker.address.host, broker.address.port, client_id=MARKUP) as client:
        await create(client, "orders", 3, {"min.cleanable.dirty.ratio": "0.25"})
        await write_values(client)
        await commit(client, "<b>billing", 1)
        await client.send(InitProducerIdRequest(transactional_id="tx-1", transaction_timeout_ms=10_000), 0)
        yield client


async def arm_a_fault(broker: ControlledBroker) -> None:
    fault = {"kind": "error", "api": "Heartbeat", "code": "REQUEST_TIMED_OUT", "optional": True}
    assert (await post_json(broker.http_address, "faults", {"do": "arm", "fields": fault})).status == 200


@pytest.fixture
def page(broker: ControlledBroker, client: RawClient) -> str:
    return f"http://{broker.http_address}/"


@pytest.fixture
async def tab(tmp_path: Path, page: str) -> AsyncIterator[Tab]:
    async with chromium(tmp_path / "profile") as opened:
        yield opened
        assert opened.told == [], "the console said something"


async def keep_picture(tab: Tab, name: str) -> None:
    if "STEPDOWN_SCREENSHOTS" in os.environ:
        await tab.picture(Path(os.environ["STEPDOWN_SCREENSHOTS"]) / f"{name}.png")


@pytest.mark.parametrize(("width", "scheme"), [(w, s) for w in (NARROW, WIDE) for s in ("light", "dark")])
async def test_every_view_is_shown_whole_and_without_a_barrier(
    width: int, scheme: str, page: str, client: RawClient, tab: Tab, broker: ControlledBroker
) -> None:
    await arm_a_fault(broker)
    await tab.resize(width, scheme)
    barriers: dict[str, list[str]] = {}
    for view, text in VIEWS.items():
        await tab.show(f"{page}#/{view}", text)
        if view == "requests":
            await write_values(client)
            await tab.until("document.querySelector('main').innerText.includes('Produce v7')")
        document = await tab.evaluate("document.documentElement.outerHTML")
        assert not re.search(r"<img[^>]*onerror|<b>billing", document), "a value became markup"
        assert 'class="error"' not in document
        assert await tab.evaluate("document.documentElement.scrollWidth") <= width, f"{view} scrolls aside"
        if width == NARROW:
            assert await tab.evaluate(FITS), f"{view} has columns out of sight"
        barriers[view] = await tab.find_barriers()
        await keep_picture(tab, f"{re.sub(r'[/%]+', '-', view)}-{width}-{scheme}")
    assert {view: found for view, found in barriers.items() if found} == {}


@pytest.mark.parametrize("width", [NARROW, WIDE])
async def test_old_clients_and_long_names_have_room(width: int, page: str, broker: ControlledBroker, tab: Tab) -> None:
    """Words of the clients broke in the middle, and topics lost their columns where the window was narrow."""
    await tab.resize(width, "light")
    async with await RawClient.connect(broker.address.host, broker.address.port, client_id="kafka-node-client") as old:
        await create(old, "t" * LONGEST_NAME, 1)
        await write(
            old,
            "orders",
            partition=1,
            data=record_set(2, Codec.NONE, [Record(offset=0, timestamp=NOW, key=None, value=b"null")]),
        )
        await old.send(fetch("orders"), 2)
        await commit(old, "old", 1)
        await tab.show(f"{page}#/clients", "kafka-node-client")
        shown = await tab.evaluate("document.querySelector('main').innerText")
        assert "Mend: KafkaJS 2.x or confluent-kafka-javascript: kafka-node" in shown
        assert await tab.evaluate(FITS)
        assert await tab.evaluate(BROKEN_WORDS) == []
        await keep_picture(tab, f"old-clients-{width}")
        await tab.show(f"{page}#/topics", "ttt")
        assert await tab.evaluate(FITS)
        assert await tab.evaluate("getComputedStyle(document.querySelector('td.name > a')).overflow") == "visible"
        await keep_picture(tab, f"long-topics-{width}")
        await tab.show(f"{page}#/topics/orders/1", "1 record is shown: offset 0.")
        assert await tab.evaluate("[...document.querySelectorAll('.record dd i')].map((each) => each.innerText)") == [
            "null"
        ]
        await keep_picture(tab, f"null-key-{width}")


async def test_a_broker_that_stopped_is_told_in_red_until_it_answers(page: str, tab: Tab) -> None:
    """Nothing was wrong and clients were served, said the overview of a broker that was gone, with its last rates."""
    await tab.show(page, "Nothing is wrong.")
    await tab.evaluate("answered = window.fetch, window.fetch = () => Promise.reject(new TypeError('Failed to fetch'))")
    await tab.until("!document.querySelector('#silence').hidden")
    told = await tab.evaluate("document.querySelector('#silence').innerText")
    assert re.fullmatch(r"No answer from the broker since \d\d:\d\d:\d\d\. What is shown is older\.", told)
    assert "Nothing is wrong" not in await tab.evaluate("document.querySelector('main').innerText")
    assert await tab.evaluate("getComputedStyle(document.querySelector('main')).opacity") == "0.5"
    await keep_picture(tab, "silent")
    await tab.evaluate("window.fetch = answered")
    await tab.until("document.querySelector('#silence').hidden")
    await tab.until("document.querySelector('main').innerText.includes('Nothing is wrong.')")


async def test_a_broker_that_hangs_is_silent_after_15_s(page: str, tab: Tab) -> None:
    """A question without an answer stayed open for ever, and the page went on as if all was well."""
    await tab.show(page, "Nothing is wrong.")
    await tab.evaluate(HANG)
    await tab.until("asked.length")
    assert await tab.evaluate("[asked[0].after_ms, document.querySelector('#silence').hidden]") == [15_000, True]
    await tab.evaluate("asked[0].clock.abort(new DOMException('', 'TimeoutError'))")
    await tab.until("!document.querySelector('#silence').hidden")


async def test_p99_is_the_bound_that_99_of_100_are_within(page: str, tab: Tab) -> None:
    """A bound below a millisecond was shown as 0 ms, and one slow request of a few as their p99."""
    cases = {
        "max ≤ 25 ms": [98, 0, 1, 0],
        "max > 25 ms": [0, 0, 0, 1],
        "≤ 0.5 ms": [99, 1, 0, 0],
        "≤ 5 ms": [98, 2, 0, 0],
        "≤ 25 ms": [0, 0, 100, 0],
        "> 25 ms": [0, 0, 98, 2],
        "–": [0, 0, 0, 0],
    }
    await tab.show(page, "Nothing is wrong.")
    for shown, counts in cases.items():
        assert await tab.evaluate(f"quantile({counts}, [0.0005, 0.005, 0.025], 0.99)") == shown


@pytest.mark.parametrize("view", ["topics/none", "groups/none"])
async def test_what_is_not_there_is_told_once_and_has_no_pages(view: str, page: str, tab: Tab) -> None:
    """The fault stood there two or three times, above buttons for more pages of it."""
    await tab.show(f"{page}#/{view}", "none")
    await tab.until("document.querySelector('main .error')?.innerText.includes('none')")
    await tab.evaluate(SIX_ROUNDS)
    await tab.until("asked > 5 && asked === answered")
    told = await tab.evaluate("document.body.innerText.match(/there is no|not exist/gi).length")
    assert told == 1
    assert await tab.evaluate("[...document.querySelectorAll('button')].every((each) => !each.checkVisibility())")
    tab.told.clear()  # the browser names an answer of 404


async def test_an_unknown_view_is_no_overview(page: str, tab: Tab) -> None:
    """The overview was shown without a word."""
    await tab.show(f"{page}#/foo", "There is no view foo")


async def test_a_page_of_records_has_a_way_back(page: str, client: RawClient, tab: Tab) -> None:
    """There was Next alone, and later no Back from the last records."""
    many = [Record(offset=at, timestamp=NOW, key=None, value=b"v") for at in range(MANY)]
    await write(client, "orders", partition=1, data=record_set(2, Codec.NONE, many))
    await tab.show(f"{page}#/records/orders/1", "offset 299")
    walk = (("Back", 200), ("Back", 150), ("Next", 200), ("Back", 150), ("First", 0), ("Next", 50), ("Back", 0))
    for title, first in walk:
        await tab.evaluate(press_button(title))
        shown = f"50 records are shown: offsets {first} to {first + 49}. "
        await tab.until(f"document.querySelector('.card p.soft').innerText.startsWith('{shown}')")
    assert await tab.evaluate(f"{find_button('Back')}.disabled")
    await tab.evaluate("document.querySelector('input[name=follow]').checked = true")
    await tab.evaluate(press_button("Next"))
    assert not await tab.evaluate("document.querySelector('input[name=follow]').checked"), "the end takes it away"


async def test_the_keyboard_goes_everywhere(page: str, tab: Tab) -> None:
    await tab.show(page, VIEWS["overview"])
    await tab.press("Tab")
    assert await tab.evaluate("document.activeElement.className") == "skip"
    await tab.press("Enter")
    assert await tab.evaluate("document.activeElement.id") == "main"
    for number, view in enumerate(("overview", "topics", "groups", "transactions", "clients", "requests", "faults"), 1):
        await tab.press(str(number))
        await tab.until(f"location.hash === '#/{view}'")
    await tab.press("2")
    await tab.until("document.querySelector('main td a')")
    await tab.press("/")
    assert await tab.evaluate("document.activeElement.name") == "contains"
    for _ in range(4):  # the filter's check box and button, the region that may scroll, the first topic
        await tab.press("Tab")
    assert await tab.evaluate("document.activeElement.innerText") == "orders"
    await tab.press("Enter")
    await tab.until(
        "location.hash === '#/topics/orders' && document.querySelector('main').innerText.includes('partition 0')"
    )


async def test_requests_are_shown_as_they_come_until_they_are_stopped(page: str, client: RawClient, tab: Tab) -> None:
    await tab.show(f"{page}#/requests", VIEWS["requests"])
    await tab.evaluate("document.querySelector('input[name=api]').value = 'ApiVersions'")
    await tab.evaluate("document.querySelector('form').requestSubmit()")
    await tab.until("document.querySelector('main').innerText.includes('No request since')")
    await commit(client, "other", 1)
    await client.send(ApiVersionsRequest(), 0)
    await tab.until("document.querySelectorAll('tbody tr').length === 1")
    assert await tab.evaluate("document.querySelector('tbody td:nth-child(2)').innerText") == "ApiVersions v0"
    await tab.evaluate("[...document.querySelectorAll('button')].find((each) => each.innerText === 'Stop').click()")
    await client.send(ApiVersionsRequest(), 0)
    assert await tab.evaluate("document.querySelectorAll('tbody tr').length") == 1
    await tab.evaluate("[...document.querySelectorAll('button')].find((each) => each.innerText === 'Go on').click()")
    await tab.until("document.querySelectorAll('tbody tr').length === 2")


async def test_a_record_is_written(page: str, tab: Tab) -> None:
    await tab.show(f"{page}#/records/orders/1", "Write a record")
    await tab.evaluate("document.querySelector('textarea').value = 'written <b>here</b>'")
    await tab.evaluate("document.querySelector('.produce form').requestSubmit()")
    await tab.until("document.querySelector('.record')?.innerText.includes('written <b>here</b>')")


async def test_a_fault_is_armed_and_removed_and_the_clock_moves(page: str, tab: Tab, broker: ControlledBroker) -> None:
    await arm_a_fault(broker)
    await tab.show(f"{page}#/faults", VIEWS["faults"])
    await tab.evaluate("document.querySelector('select').value = 'delay'")
    await tab.evaluate("document.querySelector('input[name=fields]').value = 'api=Fetch delay=5s optional=true'")
    await tab.evaluate("document.querySelector('input[name=fields]').form.requestSubmit()")
    await tab.until("document.querySelector('tbody').innerText.includes('kind=delay')")
    await tab.evaluate("[...document.querySelectorAll('button')].find((each) => each.innerText === 'Stop').click()")
    await tab.until("document.querySelector('main').innerText.includes('and stands')")
    before = broker.control.clock.now_ms()
    await tab.evaluate("document.querySelector('input[name=by]').form.requestSubmit()")
    await tab.until("document.querySelector('.outcome').innerText.includes('moved by 45s')")
    assert broker.control.clock.now_ms() - before == 45_000
    await tab.evaluate(
        "[...document.querySelectorAll('button')].find((each) => each.innerText === 'Remove all').click()"
    )
    await tab.until("!document.querySelector('tbody')?.innerText.includes('armed')")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("fields", "", "needs code"),
        ("fields", "code=NOPE", "code: expected"),
        ("fields", "code", "expected FIELD=VALUE"),
        ("by", "", "by: expected"),
    ],
)
async def test_what_became_of_a_form_stands_in_it(name: str, value: str, told: str, page: str, tab: Tab) -> None:
    """It stood in the footer, out of sight, until the next round of the view wrote over it."""
    await tab.resize(NARROW, "light")
    await tab.show(f"{page}#/faults", "No fault was armed.")
    await tab.evaluate("document.querySelector('select').value = 'error'")
    await tab.evaluate(f"document.querySelector('input[name={name}]').value = '{value}'")
    form = f"document.querySelector('input[name={name}]').form"
    await tab.evaluate(f"{form}.requestSubmit()")
    await tab.until(f"{form}.querySelector('[role=status].error')?.innerText.includes('{told}')")
    await tab.evaluate("document.getElementById('status').textContent = ''")
    await tab.until("document.getElementById('status').innerText.startsWith('as of')")  # the next round
    assert told in await tab.evaluate(f"{form}.querySelector('[role=status]').innerText")
    tab.told.clear()  # the browser names an answer of 400


async def test_a_record_is_told_beside_its_button(page: str, tab: Tab) -> None:
    """Where it was written stood in the footer for at most three seconds."""
    await tab.show(f"{page}#/records/orders/1", "Write a record")
    await tab.evaluate("document.querySelector('.produce form').requestSubmit()")
    await tab.until(
        "document.querySelector('.produce [role=status]').innerText === 'written at offset 0'"
        " && document.querySelector('.record dd:last-child').innerText === 'empty'"
    )


async def test_a_mistyped_api_is_told_and_any_case_is_taken(page: str, client: RawClient, tab: Tab) -> None:
    """Requests of `Fatch` and of `fetch` were waited for, for ever."""
    await tab.show(f"{page}#/requests", VIEWS["requests"])
    await tab.until("document.querySelector('#apis option[value=Produce]')")
    await tab.evaluate("document.querySelector('input[name=api]').value = 'Fatch'")
    await tab.evaluate("document.querySelector('form').requestSubmit()")
    await tab.until("document.querySelector('form [role=status]').innerText.includes('did you mean Fetch?')")
    tab.told.clear()  # the browser names an answer of 400
    await tab.evaluate("document.querySelector('input[name=api]').value = 'apiversions'")
    await tab.evaluate("document.querySelector('form').requestSubmit()")
    await tab.until("document.querySelector('main').innerText.includes('No request since')")
    assert await tab.evaluate("document.querySelector('form [role=status]').innerText") == ""
    await commit(client, "other", 1)
    await tab.until("document.querySelector('main').innerText.includes('1 other, which the filter leaves out')")
    await tab.evaluate(press_button("Stop"))
    assert "Stopped" in await tab.evaluate("document.querySelector('main').innerText")


async def test_clients_are_filtered_and_versions_look_like_versions(page: str, client: RawClient, tab: Tab) -> None:
    """`Fetch 12, Produce 2, 11` read as counts, and the table had no filter, of which docs speak."""
    await client.send(fetch("orders"), 2)
    await tab.show(f"{page}#/clients", "Fetch v2")
    await tab.until("document.querySelector('main').innerText.includes('v2 gzip → v1')")
    await tab.press("/")
    assert await tab.evaluate("document.activeElement.name") == "contains"
    await tab.evaluate("document.activeElement.value = 'nobody'")
    await tab.evaluate("document.querySelector('form').requestSubmit()")
    await tab.until("document.querySelector('main').innerText.includes('There is no such client.')")


@pytest.mark.parametrize("width", [1024, 1200, WIDE])
async def test_a_table_of_clients_has_all_of_its_columns_in_sight(
    width: int, page: str, broker: ControlledBroker, client: RawClient, tab: Tab
) -> None:
    """The last columns were cut off without a sign."""
    seen = broker.broker.clients.find(
        "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff",
        KafkaPrincipal("User", "CN=orders,OU=payments,O=Example Company,C=DE"),
        *("orders_service_consumer_with_a_long_id", "aLongNameOfSoftwareWithoutABreak", "2026.11.30-SNAPSHOT"),
    )
    for key in (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.OFFSET_FOR_LEADER_EPOCH):
        seen.count_request((key, 0), 1.0)
    seen.translated[ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1] = seen.converted[2, 0, 4] = 123_456
    seen.count_loss(ZSTD, 12_345, ("orders",))
    await tab.resize(width, "light")
    await tab.show(f"{page}#/clients", "orders_service")
    assert await tab.evaluate(FITS)
    assert await tab.evaluate("document.querySelector('th:last-child').innerText") == "Latest"
    shown = await tab.evaluate("document.querySelector('main').innerText")
    assert all(word in shown for word in ("Converted", "Translated", "Lost", "Not in its versions", "123,456 times"))
    assert await tab.find_barriers() == []
    await keep_picture(tab, f"many-columns-{width}")


async def test_stepdowns_own_commands_are_named_as_such(page: str, broker: ControlledBroker, tab: Tab) -> None:
    """They did not work with Kafka 4, it said, and that nothing is needed; the command line said no."""
    async with await RawClient.connect(broker.address.host, broker.address.port, client_id="stepdown-cli") as own:
        await own.send(fetch("orders"), 1)
    await tab.show(f"{page}#/clients", "stepdown-cli")
    assert await tab.evaluate("document.querySelector('tbody td:nth-child(3)').innerText") == "own command"


async def test_a_held_loop_is_a_sentence(page: str, broker: ControlledBroker, tab: Tab) -> None:
    """`Times that a request held the event loop for 100 ms (1 in all): FETCH`, it said, until the broker ended."""
    at_ms = broker.control.clock.now_ms()
    broker.broker.loop_holds["FETCH"] = LoopHold(290, at_ms)
    await tab.show(page, "A request (Fetch) held the event loop for 290 ms, at ")
    told = await tab.evaluate("document.querySelector('main .bad').innerText")
    assert re.search(r"at \d\d:\d\d:\d\d UTC\.\n", told)


async def test_what_a_gateway_measures_includes_waiting(page: str, tab: Tab) -> None:
    """An idle one had a p99 of a second, as if it were slow."""
    await tab.show(page, "without that which a Fetch waits for records")
    await tab.evaluate("answer = ask, ask = async (...given) => ({ ...await answer(...given), node_id: -1 }), route()")
    await tab.until("document.querySelector('main').innerText.includes('waiting in the cluster included')")


async def test_a_name_that_comes_later_is_shown_at_earlier_requests(page: str, client: RawClient, tab: Tab) -> None:
    """The row of ApiVersions kept its guess beside rows with the name."""
    await tab.show(f"{page}#/requests", VIEWS["requests"])
    for version in (0, 3):
        named = {"client_software_name": "lib", "client_software_version": "1.2"} if version else {}
        await client.send(ApiVersionsRequest(**named), version)
        await tab.until(f"document.querySelector('tbody')?.innerText.includes('ApiVersions v{version}')")
    software = "[...document.querySelectorAll('tbody td:last-child')].map((each) => each.innerText)"
    assert set(await tab.evaluate(software)) == {"lib 1.2"}


async def test_a_time_of_a_setting_is_exact(page: str, tab: Tab) -> None:
    """A retention of 60,000,000 ms was 17 h."""
    await tab.show(page, "Nothing is wrong.")
    cases = {60_000_000: "16 h 40 min", 604_800_000: "7 d", -1: "for ever", 0: "0 ms", 1_500: "1 s 500 ms"}
    assert await tab.evaluate(f"{list(cases)}.map(exactly)") == list(cases.values())


async def test_an_old_client_is_worth_knowing_and_told_with_this_page_and_its_view(
    page: str, client: RawClient, tab: Tab
) -> None:
    """It said "(20)", HOST:PORT, and no client id, and that it is wrong."""
    await client.send(fetch("orders"), 2)
    await tab.show(page, "by client (1 in all)")
    assert "Nothing is wrong.\nWorth knowing" in re.sub(r"\s*\n+", "\n", await tab.evaluate("main.innerText"))
    told = await tab.evaluate("document.querySelector('.notable li').innerText")
    address = page.removeprefix("http://").removesuffix("/")
    assert SHOWN in told and f"stepdown clients --http {address}" in told
    assert await tab.evaluate("document.querySelector('.notable a').hash") == "#/clients"


async def test_an_armed_fault_and_a_clock_that_stands_are_told(page: str, tab: Tab, broker: ControlledBroker) -> None:
    """Nothing is wrong, the overview said."""
    await arm_a_fault(broker)
    await post_json(broker.http_address, "faults", {"do": "pause"})
    await tab.show(page, "Armed faults (1 in all): kind=error")
    told = await tab.evaluate("document.querySelector('main .bad').innerText")
    assert "api=Heartbeat" in told and "optional=true" in told and "Clock that stands" in told
    assert await tab.evaluate("[...document.querySelectorAll('.bad a')].map((each) => each.hash)") == ["#/faults"] * 2


async def test_records_without_a_time_are_told_where_a_time_was_asked_for(
    page: str, client: RawClient, tab: Tab
) -> None:
    """No records here, it said of five; of an offset and a time the time was dropped without a word."""
    untimed = [Record(offset=at, timestamp=-1, key=None, value=b"v" * 2000) for at in (0, 1)]
    await write(client, "orders", partition=1, data=record_set(2, Codec.NONE, untimed))
    await tab.show(f"{page}#/records/orders/1", "2 records are shown: offsets 0 to 1.")
    assert "no timestamp" in await tab.evaluate("document.querySelector('.record .about').innerText")
    assert "value: 2.0 KiB" in await tab.evaluate("document.querySelector('.record .about').innerText")
    await tab.evaluate("document.querySelector('input[name=since]').value = '2026-01-02T03:04:05'")
    await tab.evaluate("document.querySelector('form').requestSubmit()")
    await tab.until("document.querySelector('main').innerText.includes('Records without a timestamp')")
    await tab.evaluate("document.querySelector('input[name=offset]').value = '1'")
    await tab.evaluate("document.querySelector('form').requestSubmit()")
    await tab.until("document.querySelector('main .error')?.innerText.includes('both filled in')")
    await tab.evaluate(press_button("Last"))
    await tab.until("document.querySelectorAll('.record').length === 2")


async def test_offsets_that_are_no_records_are_told(page: str, client: RawClient, tab: Tab) -> None:
    """Offsets were missing without a word."""
    await tab.show(f"{page}#/records/orders/0", "records are shown")
    text = "document.querySelector('.card p.soft').innerText"
    shown = await tab.evaluate(
        "ask = async () => ({ rows: [], first: 3, position: 5, next: null, start_offset: 0, end_offset: 5 }), 0"
    )
    assert shown == 0
    await tab.evaluate(press_button("Last"))
    await tab.until(f"{text}.includes('2 offsets from 3 on are markers, aborted or compacted.')")


async def test_what_is_kept_is_told_beside_what_is_shown(page: str, client: RawClient, tab: Tab) -> None:
    """`First offset 3, next 5` and "the last 2 records" did not tell that three were deleted."""
    await tab.show(f"{page}#/records/orders/1", "finds nothing to read, and waits for offset 0.")
    few = [Record(offset=at, timestamp=NOW, key=None, value=b"v") for at in range(5)]
    await write(client, "orders", partition=1, data=record_set(2, Codec.NONE, few))
    deleted = DeleteRecordsPartition(partition_index=1, offset=3)
    await client.send(
        DeleteRecordsRequest(topics=(DeleteRecordsTopic(name="orders", partitions=(deleted,)),), timeout_ms=1_000), 1
    )
    await tab.evaluate(press_button("Last"))
    told = (
        "2 records are shown: offsets 3 to 4. A consumer with read_committed can read offsets 3 to 4; "
        "what was before 3 is deleted."
    )
    await tab.until(f"document.querySelector('.card p.soft').innerText === '{told}'")


async def test_a_value_that_is_not_shown_as_json_says_why(page: str, client: RawClient, tab: Tab) -> None:
    """It was shown as text, without a word."""
    values = {
        b'{"a": [1]}': [],
        b"plain": ["not JSON, shown as text"],
        b'{"id": 12345678901234567890}': ["a number this long would be rounded, shown as text"],
        b"\xff": ["not JSON, shown as hex"],
        b"[" * 20_000: ["only its beginning is here, shown as text", "cut: it has 20,000 bytes"],
    }
    records = [Record(offset=at, timestamp=NOW, key=None, value=value) for at, value in enumerate(values)]
    await write(client, "orders", partition=1, data=record_set(2, Codec.NONE, records))
    await tab.show(f"{page}#/records/orders/1", "5 records are shown")
    await tab.evaluate("document.querySelector('select').value = 'json'")
    await tab.evaluate("document.querySelector('select').dispatchEvent(new Event('change'))")
    told = await tab.evaluate(
        "[...document.querySelectorAll('.record')].map((record) =>"
        " [...record.querySelectorAll('.note')].map((each) => each.innerText).filter((each) => !/scroll/.test(each)))"
    )
    assert told == list(values.values())
    assert '"a": [\n' in await tab.evaluate("document.querySelector('pre').innerText")


@pytest.mark.parametrize("width", [NARROW, WIDE])
async def test_a_value_that_scrolls_says_so(width: int, page: str, client: RawClient, tab: Tab) -> None:
    """Its fifteenth line looked like its last."""
    await tab.resize(width, "light")
    values = (b"short", b"line\n" * 99, b"word " * 3_000)
    records = [Record(offset=at, timestamp=NOW, key=None, value=value) for at, value in enumerate(values)]
    await write(client, "orders", partition=1, data=record_set(2, Codec.NONE, records))
    await tab.show(f"{page}#/records/orders/1", "100 lines: scroll to see the rest")
    told = "[...document.querySelectorAll('.note')].filter((each) => each.checkVisibility()).map((e) => e.innerText)"
    assert await tab.evaluate(told) == [f"↓ {what}: scroll to see the rest" for what in ("100 lines", "a long line")]
    assert await tab.evaluate("[...document.querySelectorAll('pre')].map((each) => each.tabIndex)") == [-1, 0, 0]
    assert await tab.find_barriers() == []
    await keep_picture(tab, f"long-values-{width}")


async def test_a_wrong_api_is_asked_for_once(page: str, tab: Tab) -> None:
    """It was asked for every second, and each answer was a fault in the console."""
    await tab.show(f"{page}#/requests", VIEWS["requests"])
    await tab.evaluate(
        "asked = [], answer = ask, ask = (view, given) => { asked.push(given.api); return answer(view, given); }, 0"
    )
    await tab.evaluate("wait = setTimeout, window.setTimeout = (act) => wait(act, 0)")
    await tab.evaluate("input = document.querySelector('input[name=api]'), input.value = 'Fatch', 0")
    await tab.evaluate("asked.length = 0, input.dispatchEvent(new Event('change')), input.form.requestSubmit()")
    await tab.until("document.querySelector('form [role=status]').innerText.includes('did you mean Fetch?')")
    await tab.evaluate("input.form.requestSubmit(), new Promise((done) => wait(() => wait(done, 0), 0))")
    assert await tab.evaluate("asked.filter((each) => each === 'Fatch').length") == 1
    assert await tab.evaluate(f"{find_button('Stop')}.disabled")
    tab.told.clear()  # the browser names an answer of 400
    await tab.evaluate("input.value = 'Fetch', input.form.requestSubmit()")
    await tab.until("document.querySelector('main').innerText.includes('No request since')")
    assert await tab.evaluate("document.querySelector('form [role=status]').innerText") == ""
    await tab.until("asked.filter((each) => each === 'Fetch').length > 2")


async def test_requests_are_counted_since_a_time(page: str, client: RawClient, tab: Tab) -> None:
    """`0 since the tape began`, it said."""
    await tab.show(f"{page}#/requests", "No request since")
    about = "document.querySelector('main .card p').innerText"
    assert re.fullmatch(r"No request since \d\d:\d\d:\d\d", await tab.evaluate(about))
    for count in ("1 request", "2 requests"):
        await client.send(ApiVersionsRequest(), 0)
        await tab.until(f"{about}.startsWith('{count} since ')")


async def test_rates_are_being_measured_until_there_are_two_samples(
    page: str, tab: Tab, broker: ControlledBroker
) -> None:
    """For three seconds they were a dash, as if there were none."""
    rate = "document.querySelector('.tile b').innerText"
    await tab.show(page, "Nothing is wrong.")
    await tab.evaluate("state.before = null, drawOverview().then((made) => main.replaceChildren(...made))")
    assert await tab.evaluate(rate) == "measuring"
    await tab.evaluate("drawOverview().then((made) => main.replaceChildren(...made))")
    assert re.fullmatch(r"[\d,]+/s", await tab.evaluate(rate))
    await post_json(broker.http_address, "faults", {"do": "pause"})
    for _ in range(2):
        await tab.evaluate("drawOverview().then((made) => main.replaceChildren(...made.filter(Boolean)))")
    assert await tab.evaluate(rate) == "–", "while the clock stands nothing is measured"


async def test_an_empty_table_says_so_once(page: str, tab: Tab) -> None:
    """`0 in all` stood below `There is no such topic.`"""
    await tab.show(f"{page}#/topics", "1 in all")
    await tab.evaluate("document.querySelector('input[name=contains]').value = 'nothing'")
    await tab.evaluate("document.querySelector('form').requestSubmit()")
    await tab.until("document.querySelector('main').innerText.includes('There is no such topic.')")
    assert "in all" not in await tab.evaluate("document.querySelector('main').innerText")


async def test_all_times_are_of_one_zone(page: str, tab: Tab) -> None:
    """Some were UTC, others of the browser, and few said which."""
    await tab.show(page, "Nothing is wrong.")
    assert "Times are in UTC." in await tab.evaluate("document.querySelector('footer').innerText")
    await tab.evaluate("Date.prototype.toLocaleTimeString = () => 'local', 0")
    await tab.until("document.getElementById('status').innerText === 'as of ' + new Date().toISOString().slice(11, 19)")


async def test_a_topic_shows_the_settings_that_are_set(page: str, tab: Tab) -> None:
    """It showed none, but for retention in the list of topics."""
    await tab.show(f"{page}#/topics/orders", "Settings other than the defaults")


async def test_without_a_control_port_there_are_no_buttons_of_faults(tmp_path: Path) -> None:
    """They stood there and did nothing."""
    if CHROMIUM is None:
        pytest.skip("no chromium: apt-get install chromium")
    async with running_broker(tmp_path / "data") as plain, chromium(tmp_path / "profile") as tab:
        await tab.show(f"http://{plain.http_address}/#/faults", "no control port")
        assert await tab.evaluate("[...document.querySelectorAll('button')].every((each) => !each.checkVisibility())")
