"""Metrics of the conversions of one request."""

from dataclasses import dataclass

from ...network.metrics.counts import Histogram


@dataclass(frozen=True, slots=True)
class ConversionMeter:
    """The histograms of conversions of one API, Produce or Fetch."""

    seconds: Histogram
    temporary_bytes: Histogram

    def observe(self, seconds: float, temporary_bytes: int) -> None:
        """Observes one request; both are 0 when nothing was converted."""
        self.temporary_bytes.observe(temporary_bytes)
        if seconds:
            self.seconds.observe(seconds)
        else:
            self.seconds.observe_zero()
