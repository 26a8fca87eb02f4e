"""Why a benchmark cannot go on."""


class BenchFailure(Exception):
    """A server, a tool or the load did not do what the benchmark needs; the message says which and what it said."""
