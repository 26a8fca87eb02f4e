"""Turns, and the figures of one."""

import io
import json
from pathlib import Path

import pytest
from stepdown.bench.alternating_runs import AlternatingRun, MeasuredRun, Terms, quantile
from stepdown.bench.failures import BenchFailure
from stepdown.bench.load.load_plan import Asking, ConnectionRequests, LoadPlan
from stepdown.bench.load.process import LoadProcess
from stepdown.bench.load.result import LoadResult
from stepdown.bench.results.results import Journal
from stepdown.bench.servers.contenders import Contender, make_peer
from stepdown.bench.servers.maven import MavenStore


def result(*latencies: float, received: int = 0, sent: int = 0, seconds: float = 1.0, cpu: float = 0.0) -> LoadResult:
    return LoadResult(
        responses=len(latencies),
        received_bytes=received,
        sent_bytes=sent,
        errors=0,
        seconds=seconds,
        cpu_seconds=cpu,
        latencies_s=list(latencies),
        ended_s=[0.25 * (at + 1) for at in range(len(latencies))],
        answer_bytes=[received] * len(latencies),
        began_at=1000.0,
    )


class FakeUsage:
    """Half a second of CPU for each look."""

    def __init__(self) -> None:
        self._cpu = 0.0

    def cpu_seconds(self) -> float:
        self._cpu += 0.5
        return self._cpu

    def rss_bytes(self) -> int:
        return 0

    def peak_rss_bytes(self) -> int:
        return 0

    def forget_peak(self) -> None:
        """Nothing to forget."""


class FakeServer:
    """A name and a usage."""

    has_ended = False
    log = address = http = ""
    tls = None

    def __init__(self, name: str) -> None:
        self.name, self.version, self.usage = name, "1", FakeUsage()

    def start(self) -> None:
        """It needs none."""

    def stop(self) -> None:
        """It needs none."""

    def kill(self) -> None:
        """It needs none."""


class FakeLoad(LoadProcess):
    """Answers with a result that is there already."""

    def __init__(self, answer: LoadResult) -> None:
        self._answer = answer

    def prepare(self, plan: LoadPlan) -> None:
        """Nothing to connect."""

    def start_load(self) -> None:
        """Nothing to send."""

    def result(self) -> LoadResult:
        return self._answer


def a_plan() -> LoadPlan:
    asking = Asking(kind="fetch", client="fetch-v2", partitions=12)
    return LoadPlan(
        address="", connections=(ConnectionRequests(requests=(b"12345",), pace_s=0.01),), asking=asking, seconds=1.0
    )


def test_servers_take_turns_after_a_warm_up_of_their_own() -> None:
    turns: list[tuple[str, float]] = []
    servers: list[Contender] = [FakeServer("stepdown"), FakeServer("kafka")]

    def measure(server: Contender, seconds: float) -> dict[str, float]:
        turns.append((server.name, seconds))
        return {"mb_per_s": 1.0}

    terms = Terms(rounds=2, seconds=2.0, warm_up_s=1.0, jvm_warm_up_s=10.0)
    found = AlternatingRun("fetch", {"readers": 1}, terms, Journal(), lambda _: None).play(servers, measure)
    assert turns == [("stepdown", 1.0), ("kafka", 10.0)] + [("stepdown", 2.0), ("kafka", 2.0)] * 2
    assert [each.kind for each in found] == ["median", "median", "ratio"]


def test_a_server_may_count_from_its_first_turn() -> None:
    turns: list[float] = []

    def measure(server: Contender, seconds: float) -> dict[str, float]:
        turns.append(seconds)
        return {}

    AlternatingRun("fetch", {}, Terms(rounds=1, warm_up_s=0.0), Journal(), print).play(
        [FakeServer("stepdown")], measure
    )
    assert turns == [2.0]


def test_events_are_those_of_the_rounds() -> None:
    events = io.StringIO()
    contest = AlternatingRun("fetch", {"readers": 1}, Terms(rounds=1), Journal(events=events), lambda _: None)

    def measure(server: Contender, seconds: float) -> dict[str, float]:
        return contest.measure(server, [a_plan()], [FakeLoad(result(0.002, 0.004, received=9))]).values()

    contest.play([FakeServer("stepdown")], measure)
    rows = [json.loads(line) for line in events.getvalue().splitlines()]
    assert [(row["latency_us"], row["bytes"], row["rate"]) for row in rows] == [(2000, 9, 100), (4000, 9, 100)]
    assert [row["ts"][-12:-6] for row in rows] == ["40.250", "40.500"]
    assert rows[0]["config"] == "stepdown 1: readers=1"


def test_the_figures_of_a_turn() -> None:
    found = result(0.001, 0.003, received=3_000_000, sent=1_000_000, seconds=2.0, cpu=0.5)
    measured = MeasuredRun(cpu_seconds=0.5, results=[found], loop_p99_ms=None)
    assert measured.values() == {
        "mb_per_s": 1.5,
        "mb_per_cpu_s": 6.0,
        "requests_per_s": 1.0,
        "requests_per_cpu_s": 4.0,
        "p50_ms": 3.0,
        "p99_ms": 3.0,
        "seconds": 2.0,
        "server_cpu": 0.25,
        "load_cpu": 0.25,
    }
    assert measured.values(of_sent=True)["mb_per_s"] == 0.5


def test_no_cpu_time_at_all_is_taken_for_a_tick() -> None:
    measured = MeasuredRun(cpu_seconds=0.0, results=[result(0.001, received=1_000_000)], loop_p99_ms=0.2)
    assert measured.values()["mb_per_cpu_s"] == 100.0
    assert measured.values()["loop_p99_ms"] == 0.2


@pytest.mark.parametrize(("share", "wanted"), [(0.0, 1.0), (0.5, 3.0), (0.99, 4.0), (1.0, 4.0)])
def test_a_quantile_is_one_of_the_values(share: float, wanted: float) -> None:
    assert quantile([1.0, 2.0, 3.0, 4.0], share) == wanted


def test_a_quantile_of_nothing_is_0() -> None:
    assert quantile([], 0.99) == 0.0


def test_a_peer_that_is_not_known_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(BenchFailure, match=r"kafka:3\.9\.1, kafka:1\.1\.1"):
        make_peer("kafka:4.0.0", tmp_path, MavenStore(tmp_path), {}, "1g")
    assert make_peer("none", tmp_path, MavenStore(tmp_path), {}, "1g") is None
