"""`stepdown produce`: bytes of stdin come in, records written to a topic go out.

stdin is split into records, and the producer that applications use writes them.
"""
