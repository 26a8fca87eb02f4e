"""`stepdown serve`: parses the command line and runs a broker, which logs to stderr.

Only argparse is imported before the arguments have been parsed, and no Typer at all (docs/decisions/start-up.md).
"""
