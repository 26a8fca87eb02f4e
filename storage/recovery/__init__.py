"""Opens a log after a clean stop or a crash: checks it, cuts it after the last whole batch, rebuilds indexes."""
