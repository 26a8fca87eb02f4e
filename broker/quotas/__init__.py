"""Quotas: how much users, clients and addresses may use of the broker, and how long they wait if they used more.

The wait follows from the stored quotas and the cost of requests. The answer names it, and the connection is not read
meanwhile (KIP-13, 124, 219, 599, 612).
"""
