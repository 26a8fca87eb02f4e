"""A gateway: clients of any age in front of a Kafka cluster that removed what they speak.

It translates the request versions that Kafka 4 removed and passes everything else byte for byte. `gateway.py` puts it
together, `sessions/` answers one client each, `translations/` has a module for each API that is translated.
"""
