"""Broker keys of policy classes. Source: Kafka 3.9 ServerLogConfigs."""

from __future__ import annotations

from ..keys.key import AT_START, CLASS, inert

KEYS = (
    *inert(
        "Policies are Java classes, which cannot run here.",
        ("alter.config.policy.class.name", CLASS, None, None, AT_START),
        ("create.topic.policy.class.name", CLASS, None, None, AT_START),
    ),
)
