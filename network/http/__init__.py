"""The HTTP server of metrics and probes."""
