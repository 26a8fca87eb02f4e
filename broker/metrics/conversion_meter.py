"""Metrics of the conversions of one request."""

from dataclasses import dataclass

from ...network.metrics.counts import Histogram


@dataclass(frozen=True, slots=True)
class ConversionMeter:
    """The histograms of conversions of one API, Produce or Fetch. Requests without a conversion are observed as 0."""

    seconds: Histogram
    temporary_bytes: Histogram
