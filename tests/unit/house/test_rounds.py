"""Periodic work over many items: one item's fault ended the round for all others, each time again.

What a `Periodic` calls is found by reading: the methods that its arguments name, and the methods of the same class that
those call. A `for` loop in them that does something with an item does it inside `RoundFaults.item`, or takes care of
all faults of an item itself (`except Exception`). The same holds for the loading of the coordinators' topics.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BROKER = sorted((ROOT / "broker").rglob("*.py"))
LOADERS = {"load_all"}  # of PartitionLoading, called in the background
HARMLESS = {"append", "add", "begin", "finish_loading", "range", "setdefault", "len", "min", "max", "next"}
Method = ast.FunctionDef | ast.AsyncFunctionDef


def methods_of(node: ast.ClassDef) -> dict[str, Method]:
    return {each.name: each for each in node.body if isinstance(each, Method)}


def own(node: ast.AST) -> str | None:
    """The name, if the node is an attribute of `self`."""
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if is_own else None  # type: ignore[attr-defined]


def handed_methods(node: ast.AST) -> set[str]:
    """The attributes of `self` that are handed on, not called; what is appended to a list is a hook, and no round."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    left_out = {call.func for call in calls} | {
        each
        for call in calls
        if called_name(call) == "append"
        for arg in call.args
        for each in ast.walk(arg)
        if isinstance(arg, ast.Attribute)
    }
    return {name for each in ast.walk(node) if each not in left_out and (name := own(each)) is not None}


def called_methods(node: ast.AST) -> set[str]:
    """The methods of `self` that are called outside a guard."""
    found = set()
    for inner in ast.iter_child_nodes(node):
        if not is_guard(inner):
            found |= called_methods(inner)
            if isinstance(inner, ast.Call) and (name := own(inner.func)) is not None:
                found.add(name)
    return found


def is_periodic(call: ast.AST) -> bool:
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Periodic"


def periodic_methods(node: ast.ClassDef) -> dict[str, Method]:
    """What timers and loading call of a class, and what these call of it."""
    known = methods_of(node)
    makers = [method for method in known.values() if any(is_periodic(each) for each in ast.walk(method))]
    wanted = {name for maker in makers for name in handed_methods(maker)} | LOADERS
    wanted &= known.keys()
    found: dict[str, Method] = {}
    while wanted:
        name = wanted.pop()
        found[name] = known[name]
        wanted |= (called_methods(known[name]) & known.keys()) - found.keys()
    return found


def loops_of(node: ast.AST) -> Iterator[ast.For]:
    """The loops that no guard is around."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.For):
            yield inner
        if not is_guard(inner):
            yield from loops_of(inner)


def called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def is_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and any(
        "rounds.catch_item_fault(" in ast.unparse(item.context_expr) for item in node.items
    )


def unguarded_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Calls below a node that no guard is around; loops within are looked at by themselves."""
    for inner in ast.iter_child_nodes(node):
        if is_guard(inner) or isinstance(inner, ast.For):
            continue
        if isinstance(inner, ast.Call) and called_name(inner) not in HARMLESS:
            yield inner
        yield from unguarded_calls(inner)


def takes_all_faults(method: Method) -> bool:
    return any(
        isinstance(each, ast.ExceptHandler) and isinstance(each.type, ast.Name) and each.type.id == "Exception"
        for each in ast.walk(method)
    )


def faults_of(source: str) -> list[str]:
    """The calls for an item of a round that no guard is around, as `Class.method:line call`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ClassDef):
            continue
        safe = {name for name, method in methods_of(node).items() if takes_all_faults(method)}
        for name, method in periodic_methods(node).items():
            calls = [call for loop in loops_of(method) for call in unguarded_calls(ast.Module(loop.body, []))]
            found += [
                f"{node.name}.{name}:{call.lineno} {ast.unparse(call)}"
                for call in calls
                if called_name(call) not in safe
            ]
    return found


@pytest.mark.parametrize("path", BROKER, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_round_goes_on_after_a_fault_of_one_item(path: Path) -> None:
    assert not faults_of(path.read_text())


BARE = """
class Upkeep:
    def start(self):
        self._task = Periodic("retention", clock, self._delete_old_segments, 1000)

    async def _delete_old_segments(self):
        await self._offsets_by_partition()

    async def _offsets_by_partition(self):
        for partition in self.partitions:
            partition.delete_old_segments()
"""


def test_a_loop_without_a_guard_is_found() -> None:
    assert faults_of(BARE) == ["Upkeep._offsets_by_partition:11 partition.delete_old_segments()"]


def test_a_loop_with_a_guard_is_not() -> None:
    guarded = BARE.replace(
        "            partition.delete",
        "            with self.rounds.catch_item_fault('', partition):\n                partition.delete",
    )
    assert faults_of(guarded) == []


def test_the_rounds_of_the_broker_are_read() -> None:
    """A test that finds no round would find no fault either."""
    read = {
        name
        for path in BROKER
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        for name in periodic_methods(node)
    }
    assert read >= {
        "apply_retention",
        "_flush",
        "_tidy_logs",
        "_expire_producers",
        "expire_offsets",
        "abort_timed_out",
        "clean_all",
    }
    assert read >= {"remove_expired_ids", "shrink_isrs", "load_all"}
