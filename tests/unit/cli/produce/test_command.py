"""`stepdown produce` and `stepdown consume` against a broker of their own."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from support.cli_steps import Stepdown, commands_for
from support.running import running_broker
from support.scraping import metric_of


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path / "data", auto_create_topics_enable=False, num_partitions=2) as broker:
        yield broker


@pytest.fixture
def run(broker: Broker) -> Stepdown:
    return commands_for(broker)


async def shown(run: Stepdown, *arguments: object) -> str:
    ended = await run("consume", "t", "--until-end", *arguments)
    assert ended.exit_code == 0, ended.stderr
    return ended.stdout


async def test_lines_become_records(run: Stepdown) -> None:
    await run("topics", "create", "t", "-p", 1)
    ended = await run("produce", "t", "-H", "h=1", "--timestamp", 5, stdin=b"a\n\nlast")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    assert await shown(run, "-f", r"%o %T %k %v %h\n") == "0 5 null a h=1\n1 5 null  h=1\n2 5 null last h=1\n"


async def test_keys_and_nulls_have_their_marks(run: Stepdown) -> None:
    await run("topics", "create", "t", "-p", 1)
    options = ("-K", ": ", "--null-value", "NULL", "--null-key", "-")
    text = b"k: v\nk: NULL\n-: w\nk: \n"
    assert (await run("produce", "t", *options, stdin=text)).exit_code == 0
    assert (await shown(run, *options)).encode() == text
    assert await shown(run, "-f", "%K,%V;") == "1,1;1,-1;-1,1;1,0;"


async def test_records_may_hold_line_feeds(run: Stepdown) -> None:
    await run("topics", "create", "t", "-p", 1)
    assert (await run("produce", "t", "-D", r"\0", stdin=b"a\nb\0c\n\0")).exit_code == 0
    assert await shown(run, "-D", r"\0") == "a\nb\0c\n\0"


async def test_all_of_stdin_or_a_file_is_one_record(run: Stepdown, tmp_path: Path) -> None:
    await run("topics", "create", "t", "-p", 1)
    (tmp_path / "one").write_bytes(b"1\n2\n")
    (tmp_path / "two").write_bytes(b"k:v\n")
    assert (await run("produce", "t", "--whole", stdin=b"a\nb\n")).exit_code == 0
    assert (await run("produce", "t", "--whole")).exit_code == 0
    files = [each for name in ("one", "two") for each in ("--file", tmp_path / name)]
    assert (await run("produce", "t", *files, stdin=b"not read")).exit_code == 0
    assert await shown(run, "-D", "|") == "a\nb\n||1\n2\n|k:v\n|"


async def test_an_empty_delimiter_is_an_error(run: Stepdown) -> None:
    """`-D ''` split at line feeds."""
    ended = await run("produce", "t", "-D", "", stdin=b"a\nb")
    assert ended.exit_code == 2 and "--whole" in ended.stderr


async def test_lines_of_a_pipe_come_in_large_batches(broker: Broker, run: Stepdown) -> None:
    """100,000 lines took ten seconds: batches held sixteen records."""
    await run("topics", "create", "t", "-p", 1)
    assert (await run("produce", "t", stdin=b"line\n" * 20_000)).exit_code == 0
    counted = {
        sample.labels["request"]: sample.value
        for sample in metric_of(broker.metrics.requests).samples
        if sample.labels["request"] == "Produce" and sample.value
    }
    assert 0 < counted["Produce"] < 100
    assert (await shown(run, "-f", ".")) == "." * 20_000


async def test_json_goes_out_and_in_again_unchanged(run: Stepdown) -> None:
    await run("topics", "create", "t", "copy", "-p", 3)
    lines = [
        {"topic": "t", "partition": n % 3, "key": key, "value": value, "timestamp": timestamp, "headers": headers}
        for n, (key, value, timestamp, headers) in enumerate(
            [
                ("k", "v", 5, []),
                (None, None, 6, [{"key": "h", "value": None}, {"key": "h", "value": ""}]),
                ("", "", -1, [{"key": "h", "value": {"base64": "/w=="}}]),
                ({"base64": "/wA="}, "ä\n", 8, []),
                ("k", None, 9, []),
            ]
        )
    ]
    given = "\n".join(map(json.dumps, lines)).encode()
    assert (await run("produce", "--json", stdin=given)).exit_code == 0
    first = await run("consume", "t", "-e", "--json")
    assert (await run("produce", "copy", "--json", stdin=first.stdout_bytes)).exit_code == 0
    second = await run("consume", "copy", "-e", "--json")
    assert sorted(second.stdout.splitlines()) == sorted(
        line.replace('"topic": "t"', '"topic": "copy"') for line in first.stdout.splitlines()
    )
    found = [json.loads(line) for line in first.stdout.splitlines()]
    kept = [{name: each[name] for name in lines[0]} for each in found]
    assert sorted(map(json.dumps, kept)) == sorted(map(json.dumps, lines))


@pytest.mark.parametrize(("form", "magic", "timestamp"), [("v0", 0, -1), ("v1", 1, 5), ("v2", 2, 5)])
@pytest.mark.parametrize("codec", ["none", "gzip"])
async def test_an_old_format_is_spoken_on_purpose(
    broker: Broker, run: Stepdown, form: str, magic: int, timestamp: int, codec: str
) -> None:
    await run("topics", "create", "t", "-p", 1)
    line = json.dumps({"key": "k", "value": "v", "timestamp": 5}).encode()
    assert (await run("produce", "t", "--json", "--as", form, "-z", codec, stdin=line)).exit_code == 0
    found = json.loads(await shown(run, "--json", "--as", form))
    assert (found["key"], found["value"], found["timestamp"]) == ("k", "v", timestamp)
    counted = {
        (sample.labels["request"], int(sample.labels["version"]))
        for sample in metric_of(broker.metrics.requests).samples
        if sample.value
    }
    produced = {version for name, version in counted if name == "Produce"}
    fetched = {version for name, version in counted if name == "Fetch"}
    assert (produced, fetched) == {0: ({1}, {1}), 1: ({2}, {3}), 2: ({11}, {12})}[magic]


async def test_what_a_format_cannot_hold_is_refused(run: Stepdown) -> None:
    await run("topics", "create", "t", "-p", 1)
    for arguments, stdin, code, told in (
        (("--as", "v1", "-H", "a=b"), b"x", 2, "has no headers"),
        (("--as", "v0", "--timestamp", 1), b"x", 2, "has no timestamps"),
        (("--as", "v0", "-z", "zstd"), b"x", 2, "has no zstd"),
        (("--as", "v3"), b"x", 2, "expected v0, v1 or v2"),
        (("--as", "v1", "--json"), b'{"value":"v","headers":[{"key":"h","value":null}]}', 1, "record 1 of stdin"),
    ):
        ended = await run("produce", "t", *arguments, stdin=stdin)
        assert (ended.exit_code, told in ended.stderr) == (code, True), (arguments, ended.stderr)


async def test_failures_tell_what_to_do_next(run: Stepdown) -> None:
    await run("topics", "create", "t", "-p", 1, "-c", "max.message.bytes=200")
    for arguments, stdin, code, told in (
        ((), b"x", 2, "no topic is given"),
        (("t", "-p", 3), b"x", 1, "stepdown topics alter t -p 4"),
        (("nothing",), b"x", 1, "stepdown topics create nothing"),
        (("t",), b"x" * 500, 1, "Raise max.message.bytes"),
        (("t", "-X", "batch.size=1"), b"x" * 500, 1, "; no record was written"),
        (("t", "-X", "batch.size=1", "-D", "|"), b"v|" + b"x" * 500, 1, "; 1 record was written"),
        (("t", "-K", ":\\t"), b"k:\tv\nx", 1, 'record 2 of stdin: it has no key separator ":\\t"'),
        (("t", "--file", "missing"), b"", 1, "missing: No such file"),
        (("t", "--whole"), b"x" * 7_000_000, 1, "-X max.request.size"),
        (("t", "--whole"), b"x" * 2_000_000, 1, "-X max.request.size"),
        (("t", "--json"), b"{}", 1, "a tombstone has the value null"),
        (("--json",), b'{"value":"v"}', 1, "it names no topic"),
        (("t", "--json", "-K", ":"), b"", 2, "leave out --key-separator"),
        (("t", "-H", "name"), b"", 2, "expected NAME=VALUE"),
        (("t", "-z", "zip"), b"", 2, "compression.type"),
        (("t", "-D", r"\q"), b"", 2, "--delimiter"),
        (("t", "-X", "linger=5"), b"", 2, "linger"),
        (("t", "--whole", "--file", "x"), b"", 2, "either --whole or --file"),
    ):
        ended = await run("produce", *arguments, stdin=stdin)
        assert (ended.exit_code, told in ended.stderr) == (code, True), (arguments, ended.stderr)
    assert await shown(run) == "v\nv\n"  # what came before a bad line stays


async def test_acks_0_writes_too(run: Stepdown) -> None:
    await run("topics", "create", "t", "-p", 1)
    assert (await run("produce", "t", "-a", 0, stdin=b"v")).exit_code == 0
    found = await run("consume", "t", "--from-beginning", "-n", 1)  # without acknowledgement it has to wait for it
    assert found.stdout == "v\n"


async def test_a_signal_ends_it_once_what_was_read_is_written(broker: Broker, run: Stepdown) -> None:
    await run("topics", "create", "t", "-p", 1)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "stepdown", "produce", "t", "-b", str(broker.address)),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"a\n")
    assert (await run("consume", "t", "--from-beginning", "-n", 1)).stdout == "a\n"
    process.send_signal(signal.SIGINT)
    _, errors = await process.communicate()
    assert (process.returncode, errors) == (130, b"")
    assert await shown(run) == "a\n"


async def test_a_broker_that_ended_is_told_in_the_words_of_consume(tmp_path: Path) -> None:
    """It said `stepdown-cli: connecting to … failed`."""
    async with running_broker(tmp_path / "data") as broker:
        await commands_for(broker)("topics", "create", "t")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "stepdown", "produce", "t", "-b", str(broker.address)),
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(b"a\n")
        await commands_for(broker)("consume", "t", "--from-beginning", "-n", 1)
    process.stdin.write(b"b\n")
    told = (await process.stderr.readline()).decode()
    process.kill()
    await process.wait()
    assert told.startswith(f"stepdown: no broker answers at {broker.address}, trying until a broker answers: ")
