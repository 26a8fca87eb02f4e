"""No test passes or fails by seconds: none compares what a clock says, none has a deadline that a slow machine misses.

What only seconds can say is measured by bench/questions/times.py.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.deadline import DEADLINE_S, JOB_DEADLINE_S

TESTS = Path(__file__).parents[2]
CLOCKS = {"perf_counter", "monotonic", "process_time", "thread_time", "time"}
CLOCKS |= {f"{name}_ns" for name in CLOCKS}
DEADLINES = {"DEADLINE_S", "JOB_DEADLINE_S"}
WAITS = {
    "timeout": 0,
    "wait_for": 1,
    "create_connection": 1,
    "settimeout": 0,
    "wait": 0,
    "join": 0,
    "result": 0,
    "flush": 0,
    "init_transactions": 0,
    "commit_transaction": 0,
    "abort_transaction": 0,
    "awaitTermination": 0,
}
"""Where the time stands among the arguments of what waits."""
KEYWORDS = {"timeout", "timeout_s", "operation_timeout"}
MEASURE = {
    "parts.py",
    "support/hostile/client.py",
    "support/hostile/crowd_soak.py",
    "support/hostile/honest.py",
    "support/hostile/login_storm.py",
    "support/hostile/mutated_frames.py",
    "support/page_soak.py",
    "support/pipeline_costs.py",
    "support/pipeline_times.py",
    "support/producer_storm.py",
    "support/quota_rates.py",
    "support/replication_mutations.py",
    "support/row_summary.py",
}
"""Programs that print seconds; no test compares them."""
LENGTHS = {
    "fault/mutated_streams.py",
    "support/gateway_soak.py",
    "support/replication_mutations.py",
}
"""Programs whose caller says for how long they go on."""
ORDERED = {"unit/producer/test_producer_clock.py"}
"""A clock is what is tested: it tells a time between two others."""
MEASURED = {"p50_ms", "p95_ms", "p99_ms", "most_ms", "longest_ms", "waits_ms", "over_150_ms"}
"""What those programs find."""
MOMENTS = {
    "interop/test_groups_storm.py": "a producer pauses between records",
    "support/hostile/crowd.py": "a client sends on when a second is over",
    "support/quota_rates.py": "a load is watched for a time",
    "unit/bench/test_alternating_runs.py": "`result` makes a result here",
    "unit/broker/scheduling/test_movable_clock.py": "a thread is at work for a moment",
}
"""Files that wait for a time that no test fails by."""
FILES = sorted(TESTS.rglob("*.py"))


def is_clock(node: ast.AST) -> bool:
    """Whether the node asks a clock; `int(time.time())` is a date, and a clock that is passed in is the test's own."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id in CLOCKS
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in CLOCKS:
        return False
    owner = ast.unparse(node.func.value)
    return owner == "time" or "loop" in owner


def asks_of_clocks(tree: ast.AST) -> Iterator[ast.AST]:
    """What asks a clock, but for dates and for the end of a wait that has one of our deadlines."""
    allowed: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "int":
            inside = [each for argument in node.args for each in ast.walk(argument)]
            if not any(isinstance(each, ast.Sub) for each in inside):
                allowed |= {id(each) for each in inside}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and is_clock(node.left):
            ends = {each.id for each in ast.walk(node.right) if isinstance(each, ast.Name)}
            if ends & DEADLINES or ends & {"timeout_s", "wait_s", "seconds"}:
                allowed.add(id(node.left))
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.BinOp) and is_compared_with_an_end(node):
            allowed |= {id(each) for each in ast.walk(node)}
    for node in ast.walk(tree):
        if is_clock(node) and id(node) not in allowed:
            yield node
        if isinstance(node, ast.Compare):
            yield from (each for each in ast.walk(node) if isinstance(each, ast.Attribute) and each.attr in MEASURED)


def is_compared_with_an_end(node: ast.Compare | ast.BinOp) -> bool:
    """`monotonic() < end`, `end - monotonic()`: what is left of a wait."""
    ends = {"end", "until", "last"}
    if isinstance(node, ast.Compare):
        return is_clock(node.left) and isinstance(node.comparators[0], ast.Name) and node.comparators[0].id in ends
    return isinstance(node.op, ast.Sub) and is_clock(node.right) and ast.unparse(node.left) in ends


def short_deadlines(tree: ast.AST) -> Iterator[ast.AST]:
    """Numbers that say how long is waited."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = [each.value for each in node.keywords if each.arg in KEYWORDS]
            if name in WAITS:
                given += node.args[WAITS[name] : WAITS[name] + 1]
            yield from (each for each in given if isinstance(each, ast.Constant) and is_a_time(each.value))


def is_a_time(value: object) -> bool:
    """Not 0, which does not wait."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value != 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_no_clock_is_asked_and_no_deadline_is_a_number(path: Path) -> None:
    name, tree = str(path.relative_to(TESTS)), ast.parse(path.read_text())
    if name not in MEASURE | LENGTHS | ORDERED:
        lines = [node.lineno for node in asks_of_clocks(tree)]  # type: ignore[attr-defined]
        assert not lines, "count what happens, or measure it in bench/questions/times.py"
    if name not in MOMENTS:
        lines = [node.lineno for node in short_deadlines(tree)]  # type: ignore[attr-defined]
        assert not lines, "wait for DEADLINE_S, or for MOMENT_S where nothing may come: support/deadline.py"


def test_a_deadline_is_long() -> None:
    assert min(DEADLINE_S, JOB_DEADLINE_S) >= 30


@pytest.mark.parametrize(
    "line",
    [
        "assert time.perf_counter() - began < 0.1",
        "took = perf_counter() - began",
        "began = time.monotonic()",
        "end = monotonic() + 5",
        "assert loop.time() < 7",
        "left = time.time_ns() - 5",
        "took = int(time.time() - began)",
        "assert found.p95_ms <= 150",
    ],
)
def test_a_clock_is_found(line: str) -> None:
    assert list(asks_of_clocks(ast.parse(line)))


@pytest.mark.parametrize("line", ["f(timeout=5)", "wait_for(x, 1.0)", "asyncio.timeout(10)", "sock.settimeout(20)"])
def test_a_short_deadline_is_found(line: str) -> None:
    assert list(short_deadlines(ast.parse(line)))


@pytest.mark.parametrize(
    "line", ["end = time.monotonic() + DEADLINE_S", "assert time.monotonic() < end", "now = int(time.time())"]
)
def test_the_end_of_a_wait_and_a_date_may_ask(line: str) -> None:
    assert not list(asks_of_clocks(ast.parse(line)))
