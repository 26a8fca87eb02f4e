"""Broker keys of client quotas. Source: Kafka 3.9 QuotaConfigs."""

from __future__ import annotations

from ..keys.key import AT_START, CLASS, INT, accepted
from ..keys.value_checks import AtLeast

KEYS = (
    *accepted(
        "Clients are not throttled.",
        ("client.quota.callback.class", CLASS, None, None, AT_START),
        ("quota.window.num", INT, 11, AtLeast(1), AT_START),
        ("quota.window.size.seconds", INT, 1, AtLeast(1), AT_START),
    ),
)
