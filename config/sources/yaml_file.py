"""Reads settings from a YAML file, in which names are nested or have dots, and values are texts."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Problem
from .origin import Given, Origin

PROPERTY = re.compile(r"[\w.-]+\s*=")


def read_yaml(file: Path, is_secret: Callable[[str], bool]) -> Sequence[Given]:
    """Reads the settings in the order of the file; secrets must be quoted, unless YAML reads them as texts anyway.

    Raises: ConfigError, also for a setting that occurs twice.
    """
    try:
        import yaml
    except ImportError:
        need = "a YAML file needs PyYAML: pip install '.[gateway]' where stepdown's sources are"
        raise ConfigError([Problem(key=str(file), expected=need)]) from None

    class TextLoader(yaml.SafeLoader):
        """Reads all values as texts: a password of digits does not become a number."""

        yaml_implicit_resolvers = {"<": yaml.SafeLoader.yaml_implicit_resolvers["<"]}  # noqa: RUF012

    try:
        text = file.read_text(encoding="utf-8")
        _refuse_properties(text, file)
        loader = TextLoader(text)
        node = loader.get_single_node()
        problems = list(_find_repetitions(_list_lines(node, ""), Origin(str(file))))
        content = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as fault:  # what it quotes of the file may be a password
        mark = fault.problem_mark or fault.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else "a value"
        why = "a text with special characters has to be in quotes"
        if "'\\t'" in str(fault.problem):
            why = "it has a tab, in place of which YAML takes spaces"
        expected = f"expected YAML, which {where} is not; {why}"
        raise ConfigError([Problem(key=str(file), expected=expected)]) from None
    except OSError as fault:
        why = fault.strerror or "unreadable"
        raise ConfigError([Problem(key=str(file), expected=f"cannot read the settings: {why}")]) from None
    except (UnicodeDecodeError, yaml.YAMLError):
        raise ConfigError(
            [Problem(key=str(file), expected="expected YAML, as UTF-8 without control characters")]
        ) from None
    if problems:
        raise ConfigError(problems)
    if content is None:
        return []
    if not isinstance(content, dict):
        raise ConfigError([Problem(key=str(file), expected="expected names and values")])
    return list(_flatten(content, "", Origin(str(file)), is_secret))


def _refuse_properties(text: str, file: Path) -> None:
    """Raises: ConfigError if the first setting of the file is NAME=VALUE, as in .properties files."""
    lines = (line.strip() for line in text.splitlines())
    if PROPERTY.match(next((line for line in lines if line and not line.startswith("#")), "")):
        expected = "this is a properties file (NAME=VALUE): expected YAML (NAME: VALUE)"
        raise ConfigError([Problem(key=str(file), expected=expected)])


def _list_lines(node: Any, prefix: str) -> Iterator[tuple[Hashable, str, int]]:
    """Yields an identity, name and line for each setting and each key of a mapping: no identity may occur twice."""
    if not isinstance(getattr(node, "value", None), list) or node.id != "mapping":
        return
    for key, value in node.value:
        name = f"{prefix}{key.value}"
        is_setting = value.id != "mapping"
        yield (None if is_setting else id(node), name), name, key.start_mark.line + 1
        yield from _list_lines(value, f"{name}.")


def _find_repetitions(lines: Iterable[tuple[Hashable, str, int]], origin: Origin) -> Iterator[Problem]:
    first: dict[Hashable, int] = {}
    for what, name, line in lines:
        if what in first:
            yield Problem(key=name, expected=f"expected once, not in lines {first[what]} and {line}", origin=origin)
        first.setdefault(what, line)


def _flatten(
    content: Mapping[Any, Any], prefix: str, origin: Origin, is_secret: Callable[[str], bool]
) -> Iterable[Given]:
    for name, value in content.items():
        key = f"{prefix}{name}"
        if is_secret(key) and not isinstance(value, str):
            raise ConfigError([Problem(key=key, expected="expected a text: put it in quotes", origin=origin)])
        if isinstance(value, dict):
            yield from _flatten(value, f"{key}.", origin, is_secret)
        else:
            yield Given(key, _text(value), origin)


def _text(value: Any) -> str:
    return ",".join(map(_text, value)) if isinstance(value, list) else str(value)
