"""Every key of brokers and topics, a module for each subject; `all_keys` has them by name.

Nothing comes in; `BROKER_KEYS` and `TOPIC_KEYS` go out. Rows live where Kafka's documentation puts them.
"""
