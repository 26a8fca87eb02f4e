"""Several processes that serve clients at the same ports: `supervisor.py` runs them, each is a `worker.py`."""
