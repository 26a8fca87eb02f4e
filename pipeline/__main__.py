"""`python -m stepdown.pipeline` is the `stepdown-pipeline` command."""

from .command import start

start()
