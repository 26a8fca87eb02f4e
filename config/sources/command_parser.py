"""A parser of command lines with shell completion, whose help fails with an error if it cannot be written."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from ..similar_names import nearest

NAME = re.compile(r"[\[@-]?(?!PLAINTEXT|SSL)[A-Z][A-Z_=:.]*[\].]*")
"""Matches a placeholder in a metavar, such as OFFSET, in contrast to a literal value."""

BAD_USAGE = 2


def list_metavar_values(metavar: str) -> list[str]:
    """The literal values in a metavar such as `all|0|1`; none for a placeholder such as OFFSET."""
    words = metavar.split("|")
    return [word for word in words if not NAME.fullmatch(word)] if len(words) > 1 else []


class CommandParser(argparse.ArgumentParser):
    """An `argparse` parser that prints help unwrapped and refuses abbreviated options.

    `no_options`: messages for certain options that it does not have.
    """

    def __init__(
        self, prog: str, description: str, example: str = "", no_options: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=f"example:\n  {example}" if example else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self._no_options = no_options

    def print_help(self, file: Any = None) -> None:
        """Prints the help. Raises: OSError, which argparse ignores: with a full disk the command would end with 0."""
        (file or sys.stdout).write(self.format_help())

    def error(self, message: str) -> NoReturn:
        """Prints the error, with the known option that is similar to an unknown one. Raises: SystemExit."""
        word = message.removeprefix("unrecognized arguments: ").split(" ")[0].partition("=")[0]
        known = (name for each in self._actions if each.help != argparse.SUPPRESS for name in each.option_strings)
        told = self._no_options.get(word.replace(".", "-"))
        near = nearest(word, known) if word.startswith("--") else None
        message = told or (f"{message}; did you mean {near}?" if near else message)
        self.exit(BAD_USAGE, f"{self.prog}: error: {message}\nTry '{self.prog} --help' for help.\n")

    def list_next(self, words: Sequence[str], begin: str) -> Iterator[tuple[str, str]]:
        """Yields completions of `begin` after `words`, with their help; none where a file or any text may follow."""
        jobs = next((each.choices for each in self._actions if isinstance(each.choices, dict)), {})
        if words and words[0] in jobs:
            yield from jobs[words[0]].list_next(words[1:], begin)
            return
        options = {name: each for each in self._actions for name in each.option_strings}
        before = options.get(words[-1]) if words else None
        if before is not None and before.nargs != 0:
            found = dict.fromkeys(list_metavar_values(str(before.metavar or "")), "")
        else:
            found = {name: each.help or "" for name, each in options.items() if each.help != argparse.SUPPRESS}
            found = found if begin.startswith("-") else {name: each.description or "" for name, each in jobs.items()}
        yield from ((name, text) for name, text in found.items() if name.startswith(begin))
