"""A gateway: lets clients of any age use a Kafka cluster that removed the request versions they speak.

It translates the request versions that Kafka 4 removed and passes everything else byte for byte. `gateway.py` puts it
together, `sessions/` serves the connection of one client, `translations/` translates requests by API.
"""
