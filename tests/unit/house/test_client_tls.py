"""asyncio's TLS let a hostile broker hold the loop: who connects goes by `client/tcp_connect.py`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BENCH = ROOT / "bench"
"""Left out: it sends loads to brokers that it has started itself."""
ROOMS = [path.parent for path in ROOT.glob("*/__init__.py") if path.parent != BENCH]
PRODUCT = [path for room in ROOMS for path in sorted(room.rglob("*.py"))]
FORBIDDEN = {"wrap_socket", "start_tls"}
ONE_PLACE = ROOT / "protocol" / "tls_records.py"


def other_tls(tree: ast.AST) -> Iterator[int]:
    """Lines that have asyncio, or OpenSSL with a socket of its own, speak TLS."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in FORBIDDEN or any(each.arg == "ssl" for each in node.keywords):
                yield node.lineno


@pytest.mark.parametrize("path", PRODUCT, ids=lambda path: str(path.relative_to(ROOT)))
def test_tls_is_spoken_record_by_record(path: Path) -> None:
    assert not list(other_tls(ast.parse(path.read_text())))


def test_openssl_is_asked_in_one_place() -> None:
    assert [path for path in PRODUCT if ".wrap_bio(" in path.read_text()] == [ONE_PLACE]


@pytest.mark.parametrize(
    "line", ["loop.create_connection(made, host, 1, ssl=context)", "context.wrap_socket(sock)", "loop.start_tls(a, b)"]
)
def test_other_tls_is_found(line: str) -> None:
    assert list(other_tls(ast.parse(line)))
