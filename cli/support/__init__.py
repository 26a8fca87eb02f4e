"""What several commands share: a blocking client, options, escapes, record formats, tables, failures.

Functions here return parsed values and connections, and raise exceptions that name the next step. No module here knows
a command.
"""
