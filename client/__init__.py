"""A blocking connection to a broker, for commands, test helpers and benchmarks: a request in, its response out."""
