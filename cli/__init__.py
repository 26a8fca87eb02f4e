"""The `stepdown` command line: `main` starts it, `commands` knows each command by its name.

A package holds one command and is imported when that command is called, so that `stepdown serve` pays for no other.
What several commands need is in `support`. A command takes options and the answers of brokers or files on disk, prints
tables, text or JSON to stdout, and ends with an exit code; a failure goes to stderr with a hint on what to do.
"""
