"""`--log-format` and `--log-level` of the broker and the gateway."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

FORMATS, LEVELS = ("console", "json"), ("debug", "info", "warning", "error")


def add_logging_options(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument_group("log").add_argument
    option(
        "--log-format",
        type=_choice_parser(FORMATS),
        choices=FORMATS,
        default=FORMATS[0],
        metavar="|".join(FORMATS),
        help="Format of log lines [default: %(default)s].",
    )
    option(
        "--log-level",
        type=_choice_parser(LEVELS),
        choices=LEVELS,
        default="info",
        metavar="|".join(LEVELS),
        help="Lowest level that is logged [default: %(default)s].",
    )


def _choice_parser(choices: Sequence[str]) -> Callable[[str], str]:
    """Returns an argparse type that accepts one of `choices` in any case, and returns it in lower case."""

    def check(value: str) -> str:
        if value.lower() not in choices:
            raise argparse.ArgumentTypeError(f"expected {' or '.join(choices)}, found {value!r}")
        return value.lower()

    return check
