"""Records from one magic to another: batches converted down (KIP-283), messages converted up.

Stored or received bytes enter, bytes of the other magic leave. No file, socket or setting.
"""
