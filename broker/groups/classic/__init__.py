"""Groups of the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and the rebalance."""
