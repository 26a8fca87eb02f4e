"""Who a client is, and what it may do.

A connection's principal enters, set by the listener that authenticated it; answers to "may it?" leave.
"""
