"""A plugin of pytest that tells which comparisons held by less than a tenth of their bound: `make margins`.

What holds by so little fails on another machine. It sees each assertion that passes, with the values it compared.
Their texts take memory: a test fails here that has assertions in what it measures the memory of.
"""

import ast
import operator
from collections.abc import Callable, Iterator

import pytest

LEAST = 100
"""Smaller numbers are counts that are meant to be near their bounds."""
NEAR = 0.1
PROPERTY = "margin"
ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
SUMS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def pytest_assertion_pass(item: pytest.Item, lineno: int, orig: str, expl: str) -> None:
    for value, bound in near_bounds(expl):
        item.user_properties.append((PROPERTY, f"{value} beside {bound}: line {lineno}: {orig}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("comparisons that held by less than a tenth")
    for report in terminalreporter.stats.get("passed", ()):
        for name, text in report.user_properties:
            if name == PROPERTY:
                terminalreporter.line(f"{report.nodeid}: {text}")


def near_bounds(explanation: str) -> Iterator[tuple[float, float]]:
    """Numbers and their bounds in an assertion as pytest explains it, its names replaced by values."""
    try:
        tree = ast.parse(explanation.split("\n")[0].strip(), mode="eval")
    except (SyntaxError, ValueError):
        return
    for compare in (node for node in ast.walk(tree) if isinstance(node, ast.Compare)):
        values = [number_of(each) for each in (compare.left, *compare.comparators)]
        for order, left, right in zip(compare.ops, values, values[1:], strict=False):
            if isinstance(order, ORDERS) and left is not None and right is not None and are_near(left, right):
                yield left, right


def are_near(one: float, other: float) -> bool:
    larger = max(abs(one), abs(other))
    return larger >= LEAST and abs(one - other) <= NEAR * larger


def number_of(node: ast.AST) -> float | None:
    """The number that a literal, or a sum of them, stands for."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in SUMS:
        left, right = number_of(node.left), number_of(node.right)
        return None if left is None or right is None else SUMS[type(node.op)](left, right)
    return None
