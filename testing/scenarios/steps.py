"""The steps of scenarios, and what may be expected.

| step | takes |
|---|---|
| `arm` | a fault, as `broker/faults/fault.py` describes it |
| `remove`, `release` | the number of a fault, counted from 1 |
| `do` | `action` and its fields: `segments/corrupt`, `producers/fence`, `markers/hold`, `markers/release` |
| `send` | `producer`, `topic`, `values`; `key`, `partition`; `bytes`: pads values to that size |
| | `count` instead of `values`: so many, one `every` so long, of which no line tells |
| `begin`, `commit`, `abort`, `init` | a transactional producer; a commit that fails is an outcome, `commit of NAME` |
| `join`, `leave`, `crash` | the names of members; who crashed may join again |
| `work` | `member`, and `for` how long it does not poll |
| `advance` | a time: timers ring on the way |
| `expect` | `acknowledged`, `pending`: values; `failed`: value to error; `records`: topic to values; |
| | `shares`: topic to partition to `at least N` or `at most N` records; |
| | `assigned`: member to partitions; `generations`: group to its number, which each rebalance raises; |
| | `groups`: group to its state; `requests`: API to number; `errors`: API to error codes in order |
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ...broker.faults.field_values import duration_ms
from ...producer import Delivery, Producer, ProducerError
from .stage import Sent, Stage

Step = Callable[[Stage, Any], Awaitable[None]]


async def _ask(stage: Stage, method: str, path: str, body: Mapping[str, Any]) -> None:
    status, answer = await stage.control.handle(method, path, body)
    assert status == 200, answer["error"]


async def arm(stage: Stage, fault: Mapping[str, Any]) -> None:
    await _ask(stage, "POST", "faults", fault)


async def remove(stage: Stage, number: int) -> None:
    await _ask(stage, "DELETE", f"faults/{number}", {})


async def release(stage: Stage, number: int) -> None:
    await _ask(stage, "POST", f"faults/{number}/release", {})


async def do(stage: Stage, action: Mapping[str, Any]) -> None:
    await _ask(stage, "POST", action["action"], {name: value for name, value in action.items() if name != "action"})


async def advance(stage: Stage, by: str | int) -> None:
    await _ask(stage, "POST", "clock/advance", {"by": by})


async def send(stage: Stage, what: Mapping[str, Any]) -> None:
    producer = await stage.producer(what["producer"])
    if "count" in what:
        await _send_many(stage, producer, what)
        return
    key = what.get("key")
    for value in what["values"]:
        stage.tell(f"{what['producer']} sends {value}")
        sent = stage.sent[value] = Sent(value)
        data = value.encode().ljust(what.get("bytes", 0), b".")
        delivery = producer.send(
            what["topic"], data, key=None if key is None else key.encode(), partition=what.get("partition")
        )
        _watch(stage, sent, delivery)


async def _send_many(stage: Stage, producer: Producer, what: Mapping[str, Any]) -> None:
    count, every_ms = what["count"], duration_ms(what.get("every", 0))
    stage.tell(f"{what['producer']} sends {count} records to {what['topic']}, one every {every_ms} ms")
    for number in range(count):
        producer.send(what["topic"], b"record %d" % number)
        await stage.clock.advance(every_ms)


async def init(stage: Stage, name: str) -> None:
    await _transact(stage, name, "init_transactions")


async def begin(stage: Stage, name: str) -> None:
    (await stage.producer(name)).begin_transaction()


async def commit(stage: Stage, name: str) -> None:
    await _transact(stage, name, "commit_transaction")


async def abort(stage: Stage, name: str) -> None:
    await _transact(stage, name, "abort_transaction")


async def _transact(stage: Stage, name: str, method: str) -> None:
    """Begins it; how it ends is an outcome, `commit of NAME` say."""
    label = f"{method.partition('_')[0]} of {name}"
    work: Awaitable[Any] = getattr(await stage.producer(name), method)()
    _watch(stage, stage.sent.setdefault(label, Sent(label)), asyncio.ensure_future(work))


def _watch(stage: Stage, sent: Sent, done: "Delivery | asyncio.Future[Any]") -> None:
    async def wait() -> None:
        try:
            result = await done
        except ProducerError as error:
            sent.outcome = type(error).__name__
            code = getattr(error, "code", None)
            stage.tell(f"{sent.label}: failed, {sent.outcome}" + (f" {code.name}" if code is not None else ""))
        else:
            sent.outcome = getattr(result, "offset", 0)
            where = f" at offset {result.offset}" if hasattr(result, "offset") else ""
            stage.tell(f"{sent.label}: acknowledged{where}")

    sent.outcome = None
    sent.tasks.append(asyncio.ensure_future(wait()))


async def join(stage: Stage, names: list[str]) -> None:
    for name in names:
        stage.member(name).join()
        await stage.settle()


async def leave(stage: Stage, names: list[str]) -> None:
    for name in names:
        stage.member(name).leave()


async def crash(stage: Stage, names: list[str]) -> None:
    for name in names:
        stage.member(name).crash()


async def work(stage: Stage, what: Mapping[str, Any]) -> None:
    stage.member(what["member"]).work(duration_ms(what["for"]))


async def expect(stage: Stage, wanted: Mapping[str, Any]) -> None:
    """Raises: AssertionError."""
    for name, value in wanted.items():
        if name not in EXPECTATIONS:
            raise AssertionError(f"nothing can be expected of {name!r}, but of {', '.join(EXPECTATIONS)}")
        await EXPECTATIONS[name](stage, value)


async def _acknowledged(stage: Stage, labels: list[str]) -> None:
    found = sorted(label for label, sent in stage.sent.items() if isinstance(sent.outcome, int))
    assert found == sorted(labels), f"acknowledged are {found}, not {sorted(labels)}"


async def _pending(stage: Stage, labels: list[str]) -> None:
    found = sorted(label for label, sent in stage.sent.items() if sent.outcome is None)
    assert found == sorted(labels), f"without outcome are {found}, not {sorted(labels)}"


async def _failed(stage: Stage, errors: Mapping[str, str]) -> None:
    found = {label: sent.outcome for label, sent in stage.sent.items() if isinstance(sent.outcome, str)}
    assert found == errors, f"failed are {found}, not {errors}"


async def _records(stage: Stage, topics: Mapping[str, list[str]]) -> None:
    for topic, values in topics.items():
        records = await asyncio.to_thread(stage.kafka.records, topic)
        found = [(record.value or b"").rstrip(b".").decode() for record in records]
        assert found == values, f"{topic} holds {found}, not {values}"
        stage.tell(f"{topic} holds {', '.join(found) or 'nothing'}")


async def _shares(stage: Stage, topics: Mapping[str, Mapping[int, str]]) -> None:
    for topic, limits in topics.items():
        partitions = [record.partition for record in await asyncio.to_thread(stage.kafka.records, topic)]
        found = {each: partitions.count(each) for each in sorted(set(partitions))}
        stage.tell(f"{topic} holds {', '.join(f'{count} in {each}' for each, count in found.items())}")
        for partition, limit in limits.items():
            words, number = limit.rsplit(" ", 1)
            count = found.get(partition, 0)
            is_met = count >= int(number) if words == "at least" else count <= int(number)
            assert is_met, f"{topic}-{partition} holds {count} records, not {limit}"


async def _requests(stage: Stage, counts: Mapping[str, int]) -> None:
    for api, count in counts.items():
        found = sum(event.api == api for event in stage.control.events.requests())
        assert found == count, f"{found} requests {api}, not {count}"


async def _assigned(stage: Stage, members: Mapping[str, list[str]]) -> None:
    found = {name: stage.member(name).partitions for name in members}
    assert found == members, f"members have {found}, not {members}"


async def _generations(stage: Stage, groups: Mapping[str, int]) -> None:
    for group, wanted in groups.items():
        found = max((each.generation for each in stage.members.values() if each.group == group), default=None)
        assert found == wanted, f"{group} is in generation {found}, not {wanted}"


async def _groups(stage: Stage, states: Mapping[str, str]) -> None:
    for group, wanted in states.items():
        found = (await asyncio.to_thread(stage.kafka.group, group)).state
        assert found == wanted, f"{group} is {found}, not {wanted}"
        stage.tell(f"{group} is {found}")


async def _errors(stage: Stage, codes: Mapping[str, list[str]]) -> None:
    for api, wanted in codes.items():
        events = [event for event in stage.control.events.requests() if event.api == api]
        found = ["no answer" if event.answer is None else "+".join(event.answer) or "ok" for event in events]
        assert found == wanted, f"{api} was answered {found}, not {wanted}"


STEPS: Mapping[str, Step] = {
    each.__name__: each
    for each in (arm, remove, release, do, advance, send, init, begin, commit, abort, join, leave, crash, work, expect)
}
EXPECTATIONS: Mapping[str, Step] = {
    "acknowledged": _acknowledged,
    "pending": _pending,
    "failed": _failed,
    "records": _records,
    "shares": _shares,
    "assigned": _assigned,
    "generations": _generations,
    "groups": _groups,
    "requests": _requests,
    "errors": _errors,
}
