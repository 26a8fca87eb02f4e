"""`python -m stepdown` is the `stepdown` command."""

from .cli.main import main

main()
