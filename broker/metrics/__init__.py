"""What the broker counts and measures, under the names of docs/metrics.md, for `/metrics`.

Counts enter from all rooms; values leave through prometheus-client.
"""
