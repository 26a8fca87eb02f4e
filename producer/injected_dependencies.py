"""What a producer takes from around it: the clock, the network, chance, and the estimates that all producers share.

Tests and tools put others in place by a subclass of Producer with a `_dependencies` of its own.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from .accumulator.compression_estimator import SHARED, CompressionRatios
from .clock import Clock
from .loop_clock import LoopClock
from .network.connections import Connections
from .sender.network_interface import NetworkClient
from .settings import ProducerSettings

LinkMaker = Callable[[ProducerSettings, Clock, Callable[[], None]], NetworkClient]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """`link` makes the network of a producer: settings, clock, and what to call when something changed."""

    clock: Clock = field(default_factory=LoopClock)
    link: LinkMaker = Connections
    draws: random.Random = field(default_factory=random.Random)
    ratios: CompressionRatios = SHARED
