"""Quotas: how much of the broker users, clients and addresses may take, and for how long who took more has to wait.

Stored quotas and what requests cost enter; the time to wait leaves: it is told in the answer, and the connection is not
read meanwhile (KIP-13, 124, 219, 599, 612).
"""
