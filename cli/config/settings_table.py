"""The table of settings as text, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...config import BROKER_KEYS, TOPIC_KEYS
from ...config.keys.key import Key, Status
from ...config.keys.value_types import render

SECTIONS = (
    ("Settings of the broker", "broker", BROKER_KEYS, Status.ACTED_ON),
    ("Settings of topics", "topic", TOPIC_KEYS, Status.ACTED_ON),
    ("Settings of the broker that Kafka knows and that have no effect here", "broker", BROKER_KEYS, Status.ACCEPTED),
    ("Settings of topics that Kafka knows and that have no effect here", "topic", TOPIC_KEYS, Status.ACCEPTED),
)

_INTRODUCTION = """\
# Settings

Written by `stepdown config --markdown`; `stepdown config` prints the same table.

Names, defaults and ranges are Kafka 3.9's, but for those that begin with `stepdown.`. A setting of the broker is given
in a .properties file, in an environment variable as Kafka's official image maps them (`KAFKA_LOG_DIRS` for `log.dirs`,
`STEPDOWN_HTTP_LISTEN` for `stepdown.http.listen`; `__` is `_`, `___` is `-`), or with `-c KEY=VALUE`; the later wins.
A name in a file or the environment that resembles none of these, as a plugin's or a vendor's, has no effect, and the
log says so. A start ends with one that nearly is one of these ("did you mean"), and with any unknown name of `-o`.
"Changes": *no* is read at the start only; *per broker* and *cluster* may be altered while the broker runs, for one
broker, or as a default of the cluster too. Every setting of a topic may be altered at any time.
"""


def rows(sections: Iterable[tuple[str, str, Any, Status]] = SECTIONS) -> Iterator[dict[str, Any]]:
    """Yields a JSON object for each key."""
    for _, scope, table, status in sections:
        for key in keys_of(table, status):
            yield {
                "name": key.name,
                "scope": scope,
                "type": key.kind.label,
                "default": list(key.default) if isinstance(key.default, tuple) else key.default,
                "expected": key.expected,
                "dynamic": key.change.value,
                "acted_on": key.status is Status.ACTED_ON,
                "broker_defaults" if scope == "topic" else "synonyms": list(key.synonyms),
                "doc": key.doc,
            }


def keys_of(table: Mapping[str, Key], status: Status) -> list[Key]:
    """Returns the keys of one status, sorted by name, without internal ones."""
    return sorted(
        (key for key in table.values() if key.status is status and not key.internal), key=lambda key: key.name
    )


def when_changeable(key: Key) -> str:
    """Returns for whom the value can change at run time: "no", "per broker" or "cluster"."""
    return {"read-only": "no", "per-broker": "per broker", "cluster-wide": "cluster"}[key.change.value]


def default_text(key: Key) -> str:
    """Returns the default as it would be written in a file, "none" without a value, "-" for an empty one."""
    text = render(key.default)
    if text is None:
        return "none"
    return text or "-"


def plain_text() -> Iterator[str]:
    """Lines for people: a key, its type and default, and its doc."""
    for title, scope, table, status in SECTIONS:
        yield from ("", title, "=" * len(title))
        for key in keys_of(table, status):
            yield ""
            yield key.name
            change = "" if scope == "topic" else f", changes: {when_changeable(key)}"
            yield f"    {key.kind.label}, default {default_text(key)}{change}"
            if key.check is not None:
                yield f"    {key.expected}"
            if scope == "topic" and key.synonyms:
                yield f"    default from {', '.join(key.synonyms)}"
            yield from (f"    {line}" for line in wrap(key.doc, 100))


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` characters, broken at blanks."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def markdown() -> str:
    """The whole of docs/configuration.md."""
    parts = [_INTRODUCTION]
    for title, scope, table, status in SECTIONS:
        parts.append(f"\n## {title}\n")
        parts.extend(_topic_table(table, status) if scope == "topic" else _broker_table(table, status))
    return "\n".join(parts) + "\n"


def _broker_table(table: Mapping[str, Key], status: Status) -> Iterator[str]:
    yield "| key | type | default | range | changes | |\n|---|---|---|---|---|---|"
    for key in keys_of(table, status):
        yield _table_line(
            f"`{key.name}`", key.kind.label, _default_as_code(key), _range_of_key(key), when_changeable(key), key.doc
        )


def _topic_table(table: Mapping[str, Key], status: Status) -> Iterator[str]:
    yield "| key | type | default | range | default from | |\n|---|---|---|---|---|---|"
    for key in keys_of(table, status):
        synonyms = ", ".join(f"`{name}`" for name in key.synonyms)
        yield _table_line(f"`{key.name}`", key.kind.label, _default_as_code(key), _range_of_key(key), synonyms, key.doc)


def _default_as_code(key: Key) -> str:
    text = render(key.default)
    return f"`{text}`" if text else default_text(key)


def _range_of_key(key: Key) -> str:
    return "" if key.check is None else key.check.expected


def _table_line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
