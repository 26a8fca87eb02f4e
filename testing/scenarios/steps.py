"""The steps of scenarios, and what may be expected.

| step | takes |
|---|---|
| `arm` | a fault, `stepdown faults kinds` lists them |
| `remove`, `release` | the number of a fault, counted from 1 |
| `do` | `action` and its fields: `segments/corrupt`, `producers/fence`, `markers/hold`, `markers/release` |
| `send` | `producer`, `topic`, `values`; `key`, `partition`; `bytes`: pads values to that size |
| | `count` instead of `values`: that number, one `every` time; they have no lines |
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

from ...broker.faults.field_parsers import parse_duration_ms
from ...producer import Delivery, Producer, ProducerError
from ...protocol.plural import plural
from .simulation import SentRecord, Simulation

Step = Callable[[Simulation, Any], Awaitable[None]]


async def _ask_control(simulation: Simulation, method: str, path: str, body: Mapping[str, Any]) -> None:
    status, answer = await simulation.control.handle(method, path, body)
    assert status == 200, answer["error"]


async def arm(simulation: Simulation, fault: Mapping[str, Any]) -> None:
    await _ask_control(simulation, "POST", "faults", fault)


async def remove(simulation: Simulation, fault_number: int) -> None:
    await _ask_control(simulation, "DELETE", f"faults/{fault_number}", {})


async def release(simulation: Simulation, fault_number: int) -> None:
    await _ask_control(simulation, "POST", f"faults/{fault_number}/release", {})


async def do(simulation: Simulation, action: Mapping[str, Any]) -> None:
    await _ask_control(
        simulation, "POST", action["action"], {name: value for name, value in action.items() if name != "action"}
    )


async def advance(simulation: Simulation, by: str | int) -> None:
    await _ask_control(simulation, "POST", "clock/advance", {"by": by})


async def send(simulation: Simulation, what: Mapping[str, Any]) -> None:
    producer = await simulation.producer(what["producer"])
    if "count" in what:
        await _send_many(simulation, producer, what)
        return
    key = what.get("key")
    for value in what["values"]:
        simulation.add_line(f"{what['producer']} sends {value}")
        sent = simulation.sent[value] = SentRecord(value)
        data = value.encode().ljust(what.get("bytes", 0), b".")
        delivery = producer.send(
            what["topic"], data, key=None if key is None else key.encode(), partition=what.get("partition")
        )
        _note_outcome_when_done(simulation, sent, delivery)


async def _send_many(simulation: Simulation, producer: Producer, what: Mapping[str, Any]) -> None:
    count, every_ms = what["count"], parse_duration_ms(what.get("every", 0))
    simulation.add_line(
        f"{what['producer']} sends {plural(count, 'record')} to {what['topic']}, one every {every_ms} ms"
    )
    for number in range(count):
        producer.send(what["topic"], b"record %d" % number)
        await simulation.clock.advance(every_ms)


async def init(simulation: Simulation, name: str) -> None:
    await _begin_transaction_step(simulation, name, "init_transactions")


async def begin(simulation: Simulation, name: str) -> None:
    (await simulation.producer(name)).begin_transaction()


async def commit(simulation: Simulation, name: str) -> None:
    await _begin_transaction_step(simulation, name, "commit_transaction")


async def abort(simulation: Simulation, name: str) -> None:
    await _begin_transaction_step(simulation, name, "abort_transaction")


async def _begin_transaction_step(simulation: Simulation, name: str, method: str) -> None:
    """Starts a transaction method of a producer; its end becomes an outcome, such as `commit of NAME`."""
    label = f"{method.partition('_')[0]} of {name}"
    work: Awaitable[Any] = getattr(await simulation.producer(name), method)()
    sent = simulation.sent.setdefault(label, SentRecord(label))
    _note_outcome_when_done(simulation, sent, asyncio.ensure_future(work))


def _note_outcome_when_done(simulation: Simulation, sent: SentRecord, done: "Delivery | asyncio.Future[Any]") -> None:
    async def wait() -> None:
        try:
            result = await done
        except ProducerError as error:
            sent.outcome = type(error).__name__
            code = getattr(error, "code", None)
            simulation.add_line(f"{sent.label}: failed, {sent.outcome}" + (f" {code.name}" if code is not None else ""))
        else:
            sent.outcome = getattr(result, "offset", 0)
            where = f" at offset {result.offset}" if hasattr(result, "offset") else ""
            simulation.add_line(f"{sent.label}: acknowledged{where}")

    sent.outcome = None
    sent.tasks.append(asyncio.ensure_future(wait()))


async def join(simulation: Simulation, names: list[str]) -> None:
    for name in names:
        simulation.member(name).join()
        await simulation.settle()


async def leave(simulation: Simulation, names: list[str]) -> None:
    for name in names:
        simulation.member(name).leave()


async def crash(simulation: Simulation, names: list[str]) -> None:
    for name in names:
        simulation.member(name).crash()


async def work(simulation: Simulation, what: Mapping[str, Any]) -> None:
    simulation.member(what["member"]).work(parse_duration_ms(what["for"]))


async def expect(simulation: Simulation, wanted: Mapping[str, Any]) -> None:
    """Raises: AssertionError."""
    for name, value in wanted.items():
        if name not in EXPECTATIONS:
            raise AssertionError(f"nothing can be expected of {name!r}, but of {', '.join(EXPECTATIONS)}")
        await EXPECTATIONS[name](simulation, value)


async def _expect_acknowledgements(simulation: Simulation, labels: list[str]) -> None:
    found = sorted(label for label, sent in simulation.sent.items() if isinstance(sent.outcome, int))
    assert found == sorted(labels), f"acknowledged are {found}, not {sorted(labels)}"


async def _expect_pending(simulation: Simulation, labels: list[str]) -> None:
    found = sorted(label for label, sent in simulation.sent.items() if sent.outcome is None)
    assert found == sorted(labels), f"without outcome are {found}, not {sorted(labels)}"


async def _expect_failures(simulation: Simulation, errors: Mapping[str, str]) -> None:
    found = {label: sent.outcome for label, sent in simulation.sent.items() if isinstance(sent.outcome, str)}
    assert found == errors, f"failed are {found}, not {errors}"


async def _expect_records(simulation: Simulation, topics: Mapping[str, list[str]]) -> None:
    for topic, values in topics.items():
        records = await simulation.kafka.records(topic)
        found = [(record.value or b"").rstrip(b".").decode() for record in records]
        assert found == values, f"{topic} holds {found}, not {values}"
        simulation.add_line(f"{topic} holds {', '.join(found) or 'nothing'}")


async def _expect_record_limits(simulation: Simulation, topics: Mapping[str, Mapping[int, str]]) -> None:
    for topic, limits in topics.items():
        partitions = [record.partition for record in await simulation.kafka.records(topic)]
        found = {each: partitions.count(each) for each in sorted(set(partitions))}
        simulation.add_line(f"{topic} holds {', '.join(f'{count} in {each}' for each, count in found.items())}")
        for partition, limit in limits.items():
            words, number = limit.rsplit(" ", 1)
            count = found.get(partition, 0)
            is_met = count >= int(number) if words == "at least" else count <= int(number)
            assert is_met, f"{topic}-{partition} holds {plural(count, 'record')}, not {limit}"


async def _expect_requests(simulation: Simulation, counts: Mapping[str, int]) -> None:
    for api, count in counts.items():
        found = sum(event.api == api for event in simulation.control.events.requests())
        assert found == count, f"{plural(found, 'request')} {api}, not {count}"


async def _expect_assignments(simulation: Simulation, members: Mapping[str, list[str]]) -> None:
    found = {name: simulation.member(name).partitions for name in members}
    assert found == members, f"members have {found}, not {members}"


async def _expect_generations(simulation: Simulation, groups: Mapping[str, int]) -> None:
    for group, wanted in groups.items():
        found = max((each.generation for each in simulation.members.values() if each.group == group), default=None)
        assert found == wanted, f"{group} is in generation {found}, not {wanted}"


async def _expect_group_states(simulation: Simulation, states: Mapping[str, str]) -> None:
    for group, wanted in states.items():
        found = (await simulation.kafka.group(group)).state
        assert found == wanted, f"{group} is {found}, not {wanted}"
        simulation.add_line(f"{group} is {found}")


async def _expect_error_codes(simulation: Simulation, codes: Mapping[str, list[str]]) -> None:
    for api, wanted in codes.items():
        events = [event for event in simulation.control.events.requests() if event.api == api]
        found = ["no answer" if event.answer is None else "+".join(event.answer) or "ok" for event in events]
        assert found == wanted, f"{api} was answered {found}, not {wanted}"


STEPS: Mapping[str, Step] = {
    each.__name__: each
    for each in (arm, remove, release, do, advance, send, init, begin, commit, abort, join, leave, crash, work, expect)
}
EXPECTATIONS: Mapping[str, Step] = {
    "acknowledged": _expect_acknowledgements,
    "pending": _expect_pending,
    "failed": _expect_failures,
    "records": _expect_records,
    "shares": _expect_record_limits,
    "assigned": _expect_assignments,
    "generations": _expect_generations,
    "groups": _expect_group_states,
    "requests": _expect_requests,
    "errors": _expect_error_codes,
}
