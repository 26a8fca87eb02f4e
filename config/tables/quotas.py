"""Broker keys of client quotas. Source: Kafka 3.9 QuotaConfigs."""

from __future__ import annotations

from ..keys.key import AT_START, CLASS, INT, active, inert
from ..keys.value_checks import AtLeast

KEYS = (
    active(
        "quota.window.num",
        INT,
        11,
        AtLeast(1),
        AT_START,
        "Over how many windows the rates of clients are taken.",
    ),
    active(
        "quota.window.size.seconds",
        INT,
        1,
        AtLeast(1),
        AT_START,
        "How long each of these windows is.",
    ),
    *inert(
        "Quotas are chosen as Kafka does without a class of its own.",
        ("client.quota.callback.class", CLASS, None, None, AT_START),
    ),
)
