"""The topics that `stepdown topics adopt` was asked for, and whether they are here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..support.failures import CommandFailure
from .adoption import KnownTopic, match_names

NO_TOPIC_HINT = "Nothing was adopted. `stepdown topics list` shows the topics of a running broker."
NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class TopicSelection:
    """Patterns from the command line, and topics that files describe (None without files)."""

    patterns: Sequence[str]
    described: Sequence[str] | None

    def check_any_topic_matches(self, known: Mapping[str, KnownTopic]) -> None:
        """Raises: CommandFailure if a name or a pattern, or the files together, match no known topic."""
        lost = [pattern for pattern in self.patterns if not match_names(known, [pattern])]
        if lost:
            raise CommandFailure(f"no topic is called {' or '.join(lost)}", NO_TOPIC_HINT)
        if known and self.described is not None and known.keys().isdisjoint(self.described):
            named = ", ".join(self.described[:NAMES_SHOWN])
            raise CommandFailure(f"none of the topics that were described is here ({named})", NO_TOPIC_HINT)
