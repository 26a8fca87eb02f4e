"""Builds generated Python source: indentation, unique names, and referenced constants."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class CodeBuffer:
    """The text of one function. `scope` is what its global names mean."""

    __slots__ = ("_depth", "_lines", "_taken", "scope")

    def __init__(self, scope: dict[str, Any]) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._taken = 0
        self.scope = dict(scope)

    def add_line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def indent_block(self, head: str) -> Iterator[None]:
        """Lines written inside stand indented below `head`."""
        self.add_line(head)
        self._depth += 1
        begun = len(self._lines)
        yield
        if len(self._lines) == begun:
            self.add_line("pass")
        self._depth -= 1

    def new_local(self, stem: str) -> str:
        """A local name that nothing else here has."""
        self._taken += 1
        return f"{stem}{self._taken}"

    def global_for(self, stem: str, value: Any) -> str:
        """A global name for `value`; simple values stand for themselves."""
        if value is None or type(value) in (int, bool, str, bytes, float) or value == ():
            return repr(value)
        for name, known in self.scope.items():
            if known is value:
                return name
        name = self.new_local(f"{stem}_")
        self.scope[name] = value
        return name

    def compile(self, name: str, title: str) -> Callable[..., Any]:
        """The function `name` of the text; `title` stands for the file in tracebacks."""
        exec(compile(str(self), f"<{title}>", "exec"), self.scope)
        function: Callable[..., Any] = self.scope[name]
        return function

    def __str__(self) -> str:
        return "\n".join(self._lines)
