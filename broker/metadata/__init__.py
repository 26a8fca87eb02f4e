"""The metadata image: brokers, topics and partitions, their configuration, quotas and features.

Admin requests and what the log directories hold enter; every room that serves clients reads the image.
"""
