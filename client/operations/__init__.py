"""What a client can ask of a cluster, each without I/O: topics, groups, offsets, transactions, ACLs, users."""
