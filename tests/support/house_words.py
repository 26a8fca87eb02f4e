"""Counts in the product's sources what house tests hold: names, words, results and circles. `--rows` prints each."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    *("protocol", "config", "storage", "network", "broker", "client", "gateway", "producer", "testing", "cli", "bench"),
    "pipeline",
)
SCRIPTS = ROOT / "bench" / "questions"
WIDE = 5
IRREGULAR = frozenset(
    (
        *(
            "begun",
            "built",
            "cut",
            "drawn",
            "found",
            "given",
            "grown",
            "heard",
            "held",
            "kept",
            "known",
            "left",
            "lent",
        ),
        *("lost", "made", "met", "sent", "shown", "sought", "taken", "thought", "told", "understood", "written"),
    )
)
NO_PARTICIPLES = frozenset(
    (
        *("bed", "embed", "exceed", "feed", "id", "led", "need", "proceed", "red", "seed", "shed", "speed"),
        "succeed",
    )
)
NAMED_BY_ASYNCIO = frozenset(("connection_made", "connection_lost", "data_received", "eof_received"))
PREDICATES = ("is_", "has_", "was_", "are_", "may_", "can_", "should_", "test_")
PHRASES = re.compile(
    r"\b(so many|so much|as much as|anew|behind it|hears?|is told|are told|tells? of|whoever|lies? in|pulse|takes hold"
    r"|comes? of it|for as far as|at it|in one go|has it that|of its own accord|dawdle)\b",
    re.IGNORECASE,
)


def sources(suffix: str = ".py") -> list[Path]:
    return [path for room in ROOMS for path in sorted((ROOT / room).rglob(f"*{suffix}"))]


def _own(path: Path) -> bool:
    """Scripts are not installed, and nobody imports them."""
    return SCRIPTS not in path.parents


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """The classes, functions and imports of a file, nested ones included; parsed once for all tests."""
    wanted = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.ImportFrom
    return tuple(node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, wanted))


def _place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def participle_functions() -> list[str]:
    """Functions whose name begins or ends with a participle, which hides the verb; properties are values."""
    return [
        f"{_place(path, node.lineno)} {node.name}"
        for path in filter(_own, sources())
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _hides_its_verb(node)
    ]


def _hides_its_verb(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    decorators = {getattr(each, "id", getattr(each, "attr", "")) for each in function.decorator_list}
    name = function.name.strip("_")
    if (
        function.name in NAMED_BY_ASYNCIO
        or function.name.startswith("__")
        or name.startswith(PREDICATES)
        or decorators & {"property", "cached_property"}
    ):
        return False
    words = name.split("_")
    return words[-1] not in NO_PARTICIPLES and (_is_participle(words[0]) or _is_participle(words[-1]))


def _is_participle(word: str) -> bool:
    return word in IRREGULAR or (
        len(word) > 4 and word.endswith("ed") and word not in (*NO_PARTICIPLES, "speed", "succeed")
    )


def classes_without_their_file() -> list[str]:
    """Files none of whose classes shares a word with the file's name."""
    found = []
    for path in filter(_own, sources()):
        classes = [node for node in nodes_of(path) if isinstance(node, ast.ClassDef) and not node.col_offset]
        if classes and not path.stem.startswith("__") and not any(_shares_a_word(path.stem, c.name) for c in classes):
            largest = max(classes, key=lambda node: (node.end_lineno or 0) - node.lineno)
            found.append(f"{path.relative_to(ROOT)}: {largest.name}")
    return found


def _shares_a_word(stem: str, name: str) -> bool:
    words = {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)}
    return any(_are_near(one, other) for one in stem.split("_") for other in words)


def _are_near(one: str, other: str) -> bool:
    if one.rstrip("s") == other.rstrip("s"):
        return True
    return min(len(one), len(other)) > 4 and (one.startswith(other[:5]) or other.startswith(one[:5]))


def phrases() -> list[str]:
    """Words of comments and docstrings that one has to read twice."""
    found = []
    for path in sources() + sources(".pyi"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = PHRASES.search(line)
            if match and path.suffix == ".py" and ("#" in line or '"""' in line or not re.search(r"[=(]", line)):
                found.append(f"{_place(path, number)}: {match.group()}")
    return found


def wide_results() -> list[str]:
    """Functions that return five values or more without names."""
    return [
        f"{_place(path, node.lineno)} {node.name}"
        for path in sources()
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.returns, ast.Subscript)
        and getattr(node.returns.value, "id", "") == "tuple"
        and len(getattr(node.returns.slice, "elts", ())) >= WIDE
    ]


Module = tuple[str, ...]


def imports() -> dict[Module, set[Module]]:
    """By module what it imports, those that its stub imports included."""
    paths = [path for path in sources() + sources(".pyi") if _own(path)]
    known = {path.relative_to(ROOT).with_suffix("").parts for path in paths}
    arrows: dict[Module, set[Module]] = {module: set() for module in known}
    for path in paths:
        own = path.relative_to(ROOT).with_suffix("").parts
        arrows[own] |= {each for each in _imported(path, own) if each in known and each != own}
    return arrows


def _imported(path: Path, own: Module) -> Iterator[Module]:
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = (*own[: len(own) - node.level], *((node.module or "").split(".") if node.module else ()))
            yield base
            yield from ((*base, alias.name) for alias in node.names)


def circles(arrows: dict[Module, set[Module]]) -> list[str]:
    """Groups of modules or folders that need each other, by way of others too."""
    reached = {source: _reach(source, arrows) for source in arrows}
    groups = {
        frozenset({source, *(each for each in reach if source in reached.get(each, ()))})
        for source, reach in reached.items()
        if source in reach
    }
    return sorted(", ".join(sorted("/".join(each) for each in group)) for group in groups)


def _reach(source: Module, arrows: dict[Module, set[Module]]) -> set[Module]:
    found: set[Module] = set()
    left = [source]
    while left:
        more = arrows.get(left.pop(), set()) - found
        found |= more
        left += more
    return found


def folder_rings() -> list[str]:
    """Folders of one parent that need each other, however deep their files lie."""
    between: dict[Module, set[Module]] = defaultdict(set)
    for source, targets in imports().items():
        for target in targets:
            depth = next((at for at, (one, other) in enumerate(zip(source, target, strict=False)) if one != other), 0)
            if depth and len(source) > depth + 1 and len(target) > depth + 1:
                between[source[: depth + 1]].add(target[: depth + 1])
    return circles(between)


COUNTS = {
    "functions named by a participle": participle_functions,
    "files whose classes share no word with them": classes_without_their_file,
    "phrases that one has to read twice": phrases,
    "results of five values without names": wide_results,
    "circles of modules, stubs included": lambda: circles(imports()),
    "folders that import each other": folder_rings,
}


if __name__ == "__main__":
    for title, rows in ((title, count()) for title, count in COUNTS.items()):
        print(f"{len(rows):5} {title}")
        if "--rows" in sys.argv:
            print("\n".join(f"      {row}" for row in rows))
