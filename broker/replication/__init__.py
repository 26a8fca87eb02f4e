"""The replicas of one broker in a cluster: what their leaders know of followers, and what followers fetch from leaders.

Partition records of the controller enter, and what leaders have in their logs; appended batches, high watermarks and
wishes for a new ISR leave. Followers call their leaders' objects instead of sending Fetch requests, by the same rules.
"""
