"""The dependencies of a producer: clock, network, random numbers, and the compression estimates that producers share.

Tests and tools inject others by a subclass of Producer that overrides `_make_dependencies`.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from .accumulator.compression_estimator import SHARED, CompressionRatios
from .clock import Clock
from .network.connections import Connections
from .producer_clock import ProducerClock
from .sender.network_interface import NetworkClient
from .settings import ProducerSettings

LinkMaker = Callable[[ProducerSettings, Clock, Callable[[], None]], NetworkClient]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """`link` makes the network client of settings, clock, and a function to call when something has changed."""

    clock: Clock = field(default_factory=ProducerClock)
    link: LinkMaker = Connections
    draws: random.Random = field(default_factory=random.Random)
    ratios: CompressionRatios = SHARED
