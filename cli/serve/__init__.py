"""`stepdown serve`: a command line comes in, a running broker and its log lines go out.

Only argparse is imported before the arguments have been parsed, and no Typer at all (docs/decisions/start-up.md).
"""
