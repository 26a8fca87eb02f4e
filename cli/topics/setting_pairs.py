"""Parses KEY=VALUE of topic settings on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from ..support.failures import EXIT_BAD_USAGE, CommandFailure

LIST = "`stepdown config` lists the settings of topics."


def parse_setting_pairs(texts: Sequence[str], option: str = "--config") -> dict[str, str]:
    """Returns the pairs of `key=value` texts. Raises: CommandFailure, for an unknown key with the most similar one."""
    if not texts:
        return {}
    from ...config.tables.all_keys import TOPIC_KEYS
    from ...config.unknown_keys import unknown_topic_key_problem

    result = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise CommandFailure(f"{option}: expected KEY=VALUE, found {text!r}", "", EXIT_BAD_USAGE)
        if key.strip() not in TOPIC_KEYS:
            raise CommandFailure(str(unknown_topic_key_problem(key.strip())), LIST, EXIT_BAD_USAGE)
        result[key.strip()] = value
    return result
