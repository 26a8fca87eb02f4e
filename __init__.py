"""stepdown.

A Kafka broker that serves log directories to clients of any age, converting records down in bounded memory.
"""

__version__ = "0.1.0"
