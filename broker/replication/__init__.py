"""The replicas of one broker in a cluster: leaders keep the progress of followers, followers fetch from leaders.

The input is the controller's partition records and the leaders' logs; the output is appended batches, high watermarks
and requests for a new ISR. Followers call their leaders' objects instead of sending Fetch requests, by the same rules.
"""
