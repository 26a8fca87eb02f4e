"""Every key of brokers and topics, a module for each subject; `all_keys` has them by name.

`all_keys` exports `BROKER_KEYS` and `TOPIC_KEYS`. The subjects are those of Kafka's documentation.
"""
