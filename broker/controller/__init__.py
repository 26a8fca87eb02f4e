"""The controller of a cluster in one process: which brokers live, who has each partition and who leads it.

Brokers that come and go enter, and what administrators ask for; changed partition records leave, to the store first
and then to every broker.
"""
