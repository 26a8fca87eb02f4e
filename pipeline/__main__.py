"""`python -m stepdown.pipeline` is the `stepdown-pipeline` command."""

from .process import start

start()
