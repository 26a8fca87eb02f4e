"""Transactions: calls, states, requests to coordinators."""
