"""Operations on topics, configs, groups, offsets, transactions, ACLs, quotas and users, without I/O."""
