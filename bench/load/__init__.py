"""The load: a process of its own that sends requests made ahead, the topics it writes and what it asks."""
