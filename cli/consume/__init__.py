"""`stepdown consume`: fetched record sets come in, printed records go out.

A blocking client reads partitions from their leaders, alone or as a member of a classic consumer group.
"""
