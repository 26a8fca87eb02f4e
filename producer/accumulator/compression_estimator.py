"""How well each topic compresses (KIP-126): one estimate per topic and codec, shared by all producers of a process.

    estimate starts at 1.0
    observed above:  max(estimate + 0.05, observed)     the proposal: estimate + 0.05
    observed below:  max(estimate - 0.005, observed)    the proposal: estimate - 0.005
    after a split:   max(1.0, ratio of the batch)       the proposal: 1.0

Source: Kafka 3.9, CompressionRatioEstimator and Sender.completeBatch. Ratios leave the 61-byte header out.
"""

from typing import Final

from ...protocol.records.layout import Codec

WORSENING_STEP: Final = 0.05
IMPROVING_STEP: Final = 0.005
SAFETY_FACTOR: Final = 1.05
INITIAL: Final = 1.0


class CompressionRatios:
    """The table of estimates: compressed size over uncompressed size."""

    def __init__(self) -> None:
        self._ratios: dict[tuple[str, Codec], float] = {}

    def get(self, topic: str, codec: Codec) -> float:
        if not self._ratios:
            return INITIAL
        return self._ratios.get((topic, codec), INITIAL)

    def update_estimation(self, topic: str, codec: Codec, observed_ratio: float) -> float:
        """Updates the estimate after a batch that compressed to `observed_ratio` of its size; returns it."""
        estimate = self.get(topic, codec)
        if observed_ratio == estimate:
            return estimate
        if observed_ratio > estimate:
            estimate = max(estimate + WORSENING_STEP, observed_ratio)
        else:
            estimate = max(estimate - IMPROVING_STEP, observed_ratio)
        self._ratios[topic, codec] = estimate
        return estimate

    def reset_estimation(self, topic: str, codec: Codec, observed_ratio: float) -> None:
        """Resets the estimate after MESSAGE_TOO_LARGE to no compression, or `observed_ratio` if that is worse."""
        self._ratios[topic, codec] = max(INITIAL, observed_ratio)

    def forget(self) -> None:
        """Forgets all estimates."""
        self._ratios.clear()


SHARED: Final = CompressionRatios()
