"""What several commands share: a blocking client, options, escapes, record formats, tables, failures.

It takes text of the command line and responses of a broker, and hands out parsed values, connections and exceptions
that say what to do next. No module here knows a command.
"""
