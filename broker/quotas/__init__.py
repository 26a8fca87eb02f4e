"""Quotas: how much of the broker users, clients and addresses may take, and how long they wait if they took more.

The stored quotas and the cost of requests give the time to wait. It is in the answer, and the connection is not
read meanwhile (KIP-13, 124, 219, 599, 612).
"""
