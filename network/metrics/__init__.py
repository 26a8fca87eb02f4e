"""Counters, gauges and histograms of a server, and how Prometheus sees them."""
