"""The failure of a command: what went wrong, and the next step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

EXIT_FAILED = 1
EXIT_BAD_USAGE = 2
EMPTY_NAME = '""'


class CommandFailure(Exception):
    """Ends a command. `hint`: the next step for the user, or ""."""

    def __init__(self, message: str, hint: str = "", exit_code: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code

    def __str__(self) -> str:
        message = f"stepdown: {self.args[0]}"
        return f"{message}\n  {self.hint}" if self.hint else message


def raise_failures(failures: Sequence[tuple[str, str, str]], hints: Mapping[str, str]) -> None:
    """Raises CommandFailure if there are failures (name, error code, message). `hints`: next step by error code."""
    if not failures:
        return
    from ...client.errors import describe_error_of

    lines = [describe_error_of(name or EMPTY_NAME, error, message) for name, error, message in failures]
    hint = "\n  ".join(dict.fromkeys(hints[error] for _, error, _ in failures if error in hints))
    raise CommandFailure("; ".join(lines), hint)
