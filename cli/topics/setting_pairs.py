"""Parses KEY=VALUE of topic settings on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from ..support.failures import EXIT_BAD_USAGE, CommandFailure
from .hints import HINTS


def parse_setting_pairs(texts: Sequence[str], option: str = "--config") -> dict[str, str]:
    """Returns the pairs of `key=value` texts. Raises: CommandFailure, for an unknown key with the most similar one."""
    if not texts:
        return {}
    from ...config.errors import Problem
    from ...config.similar_names import nearest
    from ...config.tables.all_keys import TOPIC_KEYS

    result = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise CommandFailure(f"{option}: expected KEY=VALUE, found {text!r}", "", EXIT_BAD_USAGE)
        if key.strip() not in TOPIC_KEYS:
            problem = Problem(key=key.strip(), expected="no such topic setting", nearest=nearest(key, TOPIC_KEYS))
            raise CommandFailure(str(problem), HINTS["INVALID_CONFIG"], EXIT_BAD_USAGE)
        result[key.strip()] = value
    return result
