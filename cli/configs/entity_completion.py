"""Completions for KIND=NAME, and for the settings of that entity."""

from __future__ import annotations

import typer

from ..support.completion_values import complete_groups, complete_settings, complete_topic_settings, complete_topics


def complete_settings_to_alter(ctx: typer.Context, incomplete: str) -> list[str]:
    """Returns KEY= for each setting: of topics if the command line names a topic, else of brokers and topics."""
    if str((ctx.params.get("entity") or [""])[0]).startswith("topic"):
        return complete_topic_settings(incomplete)
    return [f"{key}=" for key in complete_settings(incomplete)]


def complete_entities(ctx: typer.Context, incomplete: str) -> list[str]:
    """Returns completions of KIND=NAME. bash passes the `=` as a word of its own, or not at all."""
    kind, equals, begin = incomplete.partition("=")
    before = [each for each in ctx.params.get("entity") or [] if each != "="]
    if not equals and before[-1:] and before[-1] in NAMES_BY_KIND:
        return NAMES_BY_KIND[before[-1]](ctx, incomplete)
    if equals:
        return [f"{kind}={name}" for name in NAMES_BY_KIND[kind](ctx, begin)] if kind in NAMES_BY_KIND else []
    from .entity import CLIENTS, RESOURCES

    return [f"{each}=" for each in (*RESOURCES, *CLIENTS) if each.startswith(incomplete)]


NAMES_BY_KIND = {"topic": complete_topics, "group": complete_groups}
