"""How much of each aim would be left if our Python, or our conversion, cost nothing?

    python benchmarks/floors.py [--rounds 5] [--seconds 1.5] [--json] [--out FILE] [CASE …]

For every case of the reference run with a bar beside Kafka: Kafka 3.9.1, and in turn with it servers that do nothing
but what no server can leave out, in C (floor.c, compiled when this starts; needs `cc`) and in Python (floor.py), over
Kafka's own segment files, driven by the loads of `stepdown bench`. CASE: `v4`, `v2`, `v0`, `8`, `100`, `10000`, `lz4`,
`snappy`, `gzip`, `64000`, `1800`; all unless some are named.

| floor | what it does with a chunk of stored batches, 224 KiB |
|---|---|
| sendfile | that |
| relay | pread, send |
| moved | pread, a copy into a second buffer, send: what a converter has to do with the bytes |
| copied | a copy out of the mapped file, send |
| mapped | send out of the mapped file; less than any converter can do |
| windows | the same, mapped a megabyte at a time |
| + sums | as well CRC-32C of what was read and CRC-32 of each message that is sent |
| library | opens and compresses a batch by the libraries that we call, in a loop, and nothing else; no server |
| library, relay + sums | the two one after the other, reckoned from their rates |
| append | recv, CRC-32C, write to the partition's file, a small answer |
| our kernel | Python: what pread, or the mapped file, gives goes through our conversion, and out by send |
| our loop | Python: one call of our compiled loop for each partition, which reads, converts and sends |
| our loop + promise | the same, after the call that reads and measures a batch, which tells the size of an answer |
| stepdown | all of it, for fetches |

A figure of a floor over Kafka's is the most that such a server could reach. "out of reach": none in C, or no library,
reaches the bar; "not in Python": they do, but none in Python does; "not proven": what lies between is ours to find.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from time import sleep

from floor_codecs import LibraryLoop, loops_for
from floor_servers import FloorMaker, FloorServer, Sizes, compile_floor, converted_sizes
from stepdown.bench.bars import BARS, Bar
from stepdown.bench.contest import Contest, Terms, Told
from stepdown.bench.fetching import SETTINGS, FetchCase, reading, request_for, topic_of
from stepdown.bench.kafka import KafkaServer
from stepdown.bench.load import LoadProcess
from stepdown.bench.maven import user_store
from stepdown.bench.producing import PARTITIONS, SETTLE_S, ProduceCase, ProduceGrid
from stepdown.bench.producing import SETTINGS as PRODUCE_SETTINGS
from stepdown.bench.reference import GRIDS
from stepdown.bench.results import Journal, Result, ratio
from stepdown.bench.servers import Server, Stepdown
from stepdown.bench.topics import Filling, Writing, check_fetch, create_topic, delete_topic, fill
from stepdown.cli.bench.terminal_output import telling
from stepdown.cli.support.terminal_tables import print_table
from stepdown.protocol.records.layout import Codec

UNCONVERTED_VERSION = 4
THREADS = 2
LIBRARY = "library"
RELAY_WAY = "relay + sums"
RELAY = f"C: {RELAY_WAY}"
SHOWN = ("work", "figure", "Kafka", "bar", "floor", "reaches", "× Kafka", "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What the cases share."""

    kafka: KafkaServer
    ours: Stepdown
    maker: FloorMaker
    load: LoadProcess
    terms: Terms
    journal: Journal
    tell: Told

    def contest(self, bench: str, case: "FetchCase | ProduceCase") -> Contest:
        settings = case.as_case() if isinstance(case, FetchCase) else case.as_case(Writing())
        return Contest(bench, settings, self.terms, self.journal, self.tell)


def name_of(case: FetchCase | ProduceCase) -> str:
    """How a case is named on the command line: by what sets it apart."""
    if isinstance(case, ProduceCase):
        return str(case.batch_bytes)
    if case.codec is not Codec.NONE:
        return case.codec.name.lower()
    if case.readers > 1:
        return str(case.readers)
    return str(case.record_bytes) if case.record_bytes != 1000 else f"v{case.version}"


def play_fetches(bench: Bench, wanted: Sequence[str]) -> None:
    """Every fetch of the reference run that is wanted."""
    for filling, cases in [(each, list(grid.cases(each))) for grid in GRIDS for each in grid.fillings()]:
        cases = [case for case in cases if not wanted or name_of(case) in wanted]
        if cases:
            bench.tell(f"writing {topic_of(filling)}")
            for server in (bench.kafka, bench.ours):
                fill(server.address, topic_of(filling), filling, bench.load)
        for case in cases:
            play_fetch(bench, case, filling)


def play_fetch(bench: Bench, case: FetchCase, filling: Filling) -> None:
    """Kafka and the floors of one case, interleaved."""
    contest = bench.contest("fetch", case)
    loops: list[Server] = [*loops_for(filling)]

    def turn(server: Server, seconds: float) -> dict[str, float]:
        if isinstance(server, LibraryLoop):
            return server.run(seconds)
        return contest.measure(server, [reading(server.address, case, filling, seconds)], [bench.load]).values()

    with running(fetch_floors(bench, case, filling)) as floors:
        served: list[Server] = [*floors, bench.ours, bench.kafka]
        for server in served:
            check_fetch(server.address, request_for(filling), case.version)
        conclude(bench, contest.play(loops + served, turn))


def fetch_floors(bench: Bench, case: FetchCase, filling: Filling) -> list[FloorServer]:
    """Those that a case is held against."""
    maker, plan = bench.maker, bench.maker.fetch_plan(bench.kafka.log_dir, filling, case.version)
    if case.version >= UNCONVERTED_VERSION:
        return [maker.fetch(plan, f"{who}: sendfile", "sendfile") for who in ("C", "Python")]
    magic = 1 if case.version >= 2 else 0
    sizes = converted_sizes(filling, magic)
    kept = maker.fetch(plan, RELAY, "relay", sizes)
    ours = maker.fetch(plan, "Python: pread + our kernel", f"v{magic}", sizes)
    if case.codec is not Codec.NONE:
        return [kept, ours]
    floors = [
        maker.fetch(plan, "C: mapped", "mapped", Sizes(send_bytes=sizes.send_bytes)),
        maker.fetch(plan, "C: copied + sums", "copied", sizes),
        maker.fetch(plan, "C: windows + sums", "windows", sizes),
        kept,
        maker.fetch(plan, "C: moved + sums", "moved", sizes),
        maker.fetch(plan, f"Python: {RELAY_WAY}", "relay", sizes),
        ours,
        maker.fetch(plan, "Python: our loop", f"run-v{magic}", sizes),
        maker.fetch(plan, "Python: our loop + promise", f"told-v{magic}", sizes),
        maker.fetch(plan, "Python: mapped + our kernel", f"mapped-v{magic}", sizes),
    ]
    if case.readers > 1:
        floors.append(maker.fetch(plan, f"C: copied + sums, {THREADS} threads", "copied", sizes, THREADS))
    return floors


def play_produces(bench: Bench, wanted: Sequence[str]) -> None:
    """Every produce case of the reference run that is wanted, by batch size."""
    numbers = count(1)
    for case in ProduceGrid().cases():
        if wanted and name_of(case) not in wanted:
            continue
        contest, filling, plan = bench.contest("produce", case), case.filling, bench.maker.produce_plan()

        def turn(
            server: Server, seconds: float, contest: Contest = contest, filling: Filling = filling
        ) -> dict[str, float]:
            is_floor = isinstance(server, FloorServer)
            topic = bench.maker.topic if is_floor else f"written-{next(numbers)}"
            if not is_floor:
                create_topic(server.address, topic, PARTITIONS)
            measured = contest.measure(server, [Writing().plan(server.address, topic, filling, seconds)], [bench.load])
            if is_floor:
                bench.maker.empty_logs()
            else:
                delete_topic(server.address, topic)
            sleep(SETTLE_S)
            return measured.values(of_sent=True)

        names = [f"{who}: append" for who in ("C", "Python")]
        with running([bench.maker.produce(plan, name, filling) for name in names]) as floors:
            conclude(bench, contest.play([*floors, bench.kafka], turn))


def conclude(bench: Bench, results: Sequence[Result]) -> None:
    """Notes what each floor reaches of Kafka's, and each library together with what has to be done around it."""
    *floors, theirs = [result for result in results if result.kind == "median"]
    libraries = [floor for floor in floors if floor.server.startswith(LIBRARY)]
    relays = [floor for floor in floors if floor.server == RELAY]
    together = [bench.journal.note(both(library, relay)) for library in libraries for relay in relays]
    for floor in (*floors, *together):
        bench.journal.note(ratio(floor, theirs))


def both(library: Result, relay: Result) -> Result:
    """What is left of two rates when one has to be done after the other."""
    values = {name: 1 / (1 / rate + 1 / relay.values[name]) for name, rate in library.values.items()}
    return replace(library, server=f"{library.server}, {RELAY_WAY}", values=values)


@contextmanager
def running(servers: Sequence[FloorServer]) -> Iterator[Sequence[FloorServer]]:
    """Started, and killed at the end."""
    with ExitStack() as stack:
        for server in servers:
            stack.callback(server.kill)
            server.start()
        yield servers


def verdict(bar: Bar, ratios: Sequence[Result]) -> str:
    """What the floors tell of one bar: where a library is at work, only those with it."""
    reached = {each.server: each.values[bar.value] for each in ratios}
    together = [value for name, value in reached.items() if name.startswith(LIBRARY) and RELAY_WAY in name]
    python = [value for name, value in reached.items() if name.startswith("Python")]
    if not bar.holds(max(together or reached.values())):
        return "out of reach"
    return "not in Python" if python and not bar.holds(max(python)) else "not proven"


def rows(journal: Journal) -> Iterator[Sequence[str]]:
    """Each bar with each of its floors."""
    for bar in (each for each in BARS if each.is_ratio and each.bench in ("fetch", "produce")):
        fitting = [result for result in journal.results if bar.fits(result)]
        ratios = [result for result in fitting if result.kind == "ratio"]
        medians = {result.server: result.values[bar.value] for result in fitting if result.kind == "median"}
        for index, each in enumerate(ratios):
            floor, kafka = each.server.split("/")
            head = (bar.work, bar.value, f"{medians[kafka]:,.0f}", f"{bar.bound * medians[kafka]:,.0f}")
            told = verdict(bar, ratios) if index == 0 else ""
            reaches = f"{medians[floor]:,.0f}", f"{each.values[bar.value]:.2f} of {bar.bound:g}"
            yield (*(head if index == 0 else ("", "", "", "")), floor, *reaches, told)


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of a turn")
    parser.add_argument("--jvm-warm-up", type=float, default=8.0, help="seconds of Kafka that do not count")
    parser.add_argument("--json", action="store_true", help="print results as JSON lines (docs/benchmarks.md)")
    parser.add_argument("--out", type=Path, help="append them to a file")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Measures, then prints a table of bars and floors."""
    chosen = options(arguments)
    terms = Terms(
        rounds=chosen.rounds, seconds=chosen.seconds, warm_up_s=chosen.seconds / 4, jvm_warm_up_s=chosen.jvm_warm_up
    )
    with ExitStack() as stack:
        outputs = [sys.stdout] if chosen.json else []
        if chosen.out:
            outputs.append(stack.enter_context(chosen.out.open("a")))
        journal = Journal(*outputs)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stepdown-floors-")))
        tell = stack.enter_context(telling())
        load = stack.enter_context(LoadProcess())
        kafka = KafkaServer(folder / "kafka", user_store(), properties=SETTINGS | PRODUCE_SETTINGS)
        stack.callback(kafka.kill)
        kafka.start()
        ours = Stepdown(folder / "stepdown", properties=SETTINGS | PRODUCE_SETTINGS)
        stack.callback(ours.kill)
        ours.start()
        maker = FloorMaker(folder=folder, c=compile_floor(folder))
        bench = Bench(kafka=kafka, ours=ours, maker=maker, load=load, terms=terms, journal=journal, tell=tell)
        play_fetches(bench, chosen.cases)
        play_produces(bench, chosen.cases)
    if not chosen.json:
        print_table(SHOWN, rows(journal), SHOWN[2:4] + SHOWN[5:7])


if __name__ == "__main__":
    main(sys.argv[1:])
