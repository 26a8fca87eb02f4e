"""`stepdown consume`: fetches record sets and prints the records.

A blocking client reads partitions from their leaders, alone or as a member of a classic consumer group.
"""
